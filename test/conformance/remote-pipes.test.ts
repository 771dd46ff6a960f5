import { remotePlace } from '../support/remote-place.ts';
import { run } from './driver-pipes.suite.ts';

run('the remote driver', () => remotePlace());
