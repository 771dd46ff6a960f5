import assert from 'node:assert/strict';
import fs from 'node:fs';
import { describe, it } from 'node:test';

import { OpenExecs } from '../../../../../src/drivers/docker/consoles/open-execs.ts';
import { tempDir } from '../../../../support/runner.ts';

describe('the memory of sessions', () => {
  it('gives the next process what was not forgotten', () => {
    const dir = tempDir();
    const sessions = new OpenExecs(dir);
    assert.deepEqual(sessions.left(), []);
    sessions.add({ container: 'c1', mark: 'm1' });
    sessions.add({ container: 'c1', mark: 'm2' });
    sessions.forget('m1');
    const next = new OpenExecs(dir);
    assert.deepEqual(next.left(), [{ container: 'c1', mark: 'm2' }]);
    next.forget('m2');
    assert.deepEqual(new OpenExecs(dir).left(), []);
    fs.rmSync(dir, { recursive: true });
  });
});
