/** What runs after a run of tests that was killed. */
import { sweepDead } from './sweep.ts';

await sweepDead();
