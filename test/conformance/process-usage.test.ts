import { processPlace } from '../support/runner.ts';
import { run } from './driver-usage.suite.ts';

// Without root there is nothing to limit with, unless a group was delegated to us.
if (process.getuid?.() === 0) run('the process driver', () => Promise.resolve(processPlace()));
