/** What one app could use up for the whole machine, were it not for its own bounds: open files, processes. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { describe, it } from 'node:test';

import { defaultPidsMax } from '../../src/programs/runner/limits/confinement.ts';
import { needs } from '../support/programs.ts';
import { processPlace } from '../support/runner.ts';

const fileMax = '/proc/sys/fs/file-max';
/** What many machines have. */
const few = 2_000_000;
const filesOfOne = 20_000;

describe('bounds of the machine', { skip: needs('root') }, () => {
  it('are beyond what the processes of one app may open', async (t) => {
    try {
      fs.writeFileSync(fileMax, String(few));
    } catch (error) {
      t.skip(`needs ${fileMax} to be written: ${(error as Error).message}`);
      return;
    }
    const place = processPlace();
    t.after(() => place.close());
    await place.driver.isolation?.();
    assert.ok(Number(fs.readFileSync(fileMax, 'latin1')) > defaultPidsMax * filesOfOne);
  });
});
