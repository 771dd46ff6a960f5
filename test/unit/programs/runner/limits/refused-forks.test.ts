import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';

import {
  bombForks,
  lookMs,
  watchRefusedForks,
} from '../../../../../src/programs/runner/limits/refused-forks.ts';
import { cleanups } from '../../../../support/cleanups.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { tempDir } from '../../../../support/runner.ts';

describe('refused forks', () => {
  const later = cleanups();

  function watched() {
    const dir = tempDir();
    later(() => fs.rmSync(dir, { recursive: true }));
    const file = path.join(dir, 'pids.events');
    const write = (count: number): void => fs.writeFileSync(file, `max ${String(count)}\n`);
    write(700);
    const clock = new ManualClock();
    const seen = { told: 0 };
    const end = watchRefusedForks(file, clock, () => seen.told++);
    const refused = async (count: number): Promise<number> => {
      write(count);
      await clock.jump(lookMs);
      return seen.told;
    };
    return { end, refused };
  }

  it('are a bomb where many are within seconds, told once', async () => {
    const { refused } = watched();
    assert.equal(await refused(700 + bombForks), 1);
    assert.equal(await refused(700 + 9 * bombForks), 1);
  });

  it('are none where as many are over a long time, were before, or nobody looks any more', async () => {
    const { end, refused } = watched();
    const step = bombForks - 1;
    for (let count = 700 + step; count < 700 + 5 * step; count += step) {
      assert.equal(await refused(count), 0);
    }
    end();
    assert.equal(await refused(100 * bombForks), 0);
  });
});
