import { remotePlace } from '../support/remote-place.ts';
import { run } from './driver-usage.suite.ts';

// As with the process driver: without root there is nothing to limit with.
if (process.getuid?.() === 0) run('the remote driver', () => remotePlace());
