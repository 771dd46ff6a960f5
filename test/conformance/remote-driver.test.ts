import { remotePlace } from '../support/remote-place.ts';
import { run } from './driver.suite.ts';

run('the remote driver', () => remotePlace());
