import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import { describe, it } from 'node:test';

import { makePipes } from '../../../../src/programs/runner/pipes.ts';
import { tempDir } from '../../../support/runner.ts';

describe('makePipes()', () => {
  it('leaves the loop to others meanwhile, and no name behind', async () => {
    const dir = tempDir();
    let turns = 0;
    const count = (): void => {
      turns++;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    try {
      const { one } = await makePipes(dir, ['one']);
      assert.ok(turns > 0);
      assert.deepEqual(fs.readdirSync(dir), []);
      fs.writeSync(one.writerFd, 'through');
      fs.closeSync(one.writerFd);
      const [bytes] = (await once(one.reader, 'data')) as [Buffer];
      assert.equal(bytes.toString(), 'through');
      one.reader.destroy();
    } finally {
      clearImmediate(counting);
      fs.rmSync(dir, { recursive: true });
    }
  });
});
