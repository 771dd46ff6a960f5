import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';

import {
  endSessionShares,
  raiseMachineBounds,
} from '../../../../../src/programs/runner/limits/machine-settings.ts';
import { memoryLogger } from '../../../../support/memory-logger.ts';

function sysctls(values: Record<string, string>): string {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'gangway-bounds-'));
  for (const [name, value] of Object.entries(values)) {
    fs.mkdirSync(path.dirname(path.join(dir, name)), { recursive: true });
    fs.writeFileSync(path.join(dir, name), `${value}\n`);
  }
  return dir;
}

const most = { files: '9223372036854775807', pids: '4194304' };

describe('raiseMachineBounds()', () => {
  it('raises what is lower', (t) => {
    const dir = sysctls({ 'fs/file-max': '2466177', 'kernel/pid_max': '32768' });
    t.after(() => fs.rmSync(dir, { recursive: true }));
    raiseMachineBounds(memoryLogger(), dir);
    assert.equal(fs.readFileSync(path.join(dir, 'fs/file-max'), 'latin1').trim(), most.files);
    assert.equal(fs.readFileSync(path.join(dir, 'kernel/pid_max'), 'latin1').trim(), most.pids);
  });

  it('leaves what is there already, and goes on without what cannot be written', (t) => {
    const dir = sysctls({ 'kernel/pid_max': most.pids });
    t.after(() => fs.rmSync(dir, { recursive: true }));
    const logger = memoryLogger();
    raiseMachineBounds(logger, dir);
    assert.deepEqual(
      logger.events.map(({ event }) => event),
      ['machine_bound_kept'],
    );
  });
});

describe('endSessionShares()', () => {
  const setting = 'kernel/sched_autogroup_enabled';

  it('turns them off, and says so once', (t) => {
    const dir = sysctls({ [setting]: '1' });
    t.after(() => fs.rmSync(dir, { recursive: true }));
    const logger = memoryLogger();
    endSessionShares(logger, dir);
    endSessionShares(logger, dir);
    assert.equal(fs.readFileSync(path.join(dir, setting), 'latin1').trim(), '0');
    assert.deepEqual(
      logger.events.map(({ event }) => event),
      ['session_shares_ended'],
    );
  });

  it('leaves them where they cannot be written, and a kernel that has none', (t) => {
    const dir = sysctls({});
    t.after(() => fs.rmSync(dir, { recursive: true }));
    const logger = memoryLogger();
    endSessionShares(logger, dir);
    assert.deepEqual(logger.events, []);
    fs.mkdirSync(path.join(dir, setting), { recursive: true });
    endSessionShares(logger, dir);
    assert.deepEqual(
      logger.events.map(({ event }) => event),
      ['session_shares_kept'],
    );
  });
});
