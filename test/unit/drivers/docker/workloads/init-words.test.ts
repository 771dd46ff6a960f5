import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { Engine } from '../../../../../src/drivers/docker/engine/engine.ts';
import { askInitFailure } from '../../../../../src/drivers/docker/workloads/init-words.ts';

/** An engine whose container has these logs, one for each time it is asked; the last one stays. */
function engineOf(logs: readonly (string | undefined)[]): { engine: Engine; asked: () => number } {
  let asked = 0;
  const engine = {
    closed: new AbortController().signal,
    ask: () => {
      const log = logs[Math.min(asked++, logs.length - 1)];
      return Promise.resolve(log === undefined ? undefined : Buffer.from(log));
    },
  } as unknown as Engine;
  return { engine, asked: () => asked };
}

const words = '[FATAL tini (7)] exec /none failed: No such file or directory\n';

describe('what docker-init says of a program that it cannot start', () => {
  it('is waited for, since a daemon tells the end before it is in the log', async () => {
    const { engine, asked } = engineOf(['', '', words]);
    const sentence = 'Cannot start /none: no such program in the image.';
    assert.equal(await askInitFailure(engine, 'c'), sentence);
    assert.equal(asked(), 3);
  });

  it('is not waited for where the program said something, or its container is gone', async () => {
    for (const log of ['sh: none: not found\n', undefined]) {
      const { engine, asked } = engineOf([log]);
      assert.equal(await askInitFailure(engine, 'c'), null);
      assert.equal(asked(), 1);
    }
  });

  it('is given up after a moment', async () => {
    const { engine, asked } = engineOf(['']);
    assert.equal(await askInitFailure(engine, 'c'), null);
    assert.ok(asked() > 1);
  });
});
