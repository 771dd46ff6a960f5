import { remotePlace } from '../support/remote-place.ts';
import { run } from './driver-terminals.suite.ts';

run('the remote driver', () => remotePlace({ isPackaged: true }));
