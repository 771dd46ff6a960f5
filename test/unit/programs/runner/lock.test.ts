import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { takeLock } from '../../../../src/programs/runner/lock.ts';
import { tempDir } from '../../../support/runner.ts';

describe('takeLock()', () => {
  let dir: string;
  beforeEach(() => {
    dir = path.join(tempDir(), 'lock');
  });
  afterEach(() => {
    fs.rmSync(path.dirname(dir), { recursive: true });
  });

  interface Holder {
    pid: number;
    startTicks: number;
    boot: string;
    instance: string;
  }
  const numbers = (): string[] => fs.readdirSync(dir).sort();
  const holder = (): Holder =>
    JSON.parse(fs.readFileSync(path.join(dir, numbers().at(-1) ?? ''), 'utf8')) as Holder;
  const leave = (number: number, text: string): void => {
    fs.writeFileSync(path.join(dir, String(number)), text);
  };

  it('gives it to one, as long as that one lives', () => {
    assert.equal(takeLock(dir, 'i'), true);
    assert.deepEqual([holder().pid, holder().instance], [process.pid, 'i']);
    assert.equal(takeLock(dir, 'i'), false);
    assert.equal(fs.statSync(dir).mode & 0o077, 0);
  });

  it('goes on from holders that are gone, that were copied, or of before a restart', () => {
    assert.equal(takeLock(dir, 'i'), true);
    const alive = holder();
    const gone: Partial<Holder>[] = [
      { pid: 4_194_305 },
      { startTicks: alive.startTicks - 1 },
      { boot: 'another' },
      { instance: 'the original' },
    ];
    for (const [at, change] of gone.entries()) {
      leave(50 + at, JSON.stringify({ ...alive, ...change }));
      assert.equal(takeLock(dir, 'i'), true, JSON.stringify(change));
      assert.deepEqual(numbers(), [String(51 + at)]);
      fs.rmSync(path.join(dir, String(51 + at)));
    }
    leave(70, '{"pid":');
    assert.equal(takeLock(dir, 'i'), true);
    assert.deepEqual(numbers(), ['71']);
  });
});
