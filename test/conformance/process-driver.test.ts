import { processPlace } from '../support/runner.ts';
import { run } from './driver.suite.ts';

run('the process driver', () => Promise.resolve(processPlace()));
