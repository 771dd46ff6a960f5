import { after, before, describe, it } from 'node:test';

import { Gangway, until } from '../support/gangway.ts';

describe('the memory of a service', () => {
  let gangway: Gangway;
  before(async () => {
    gangway = await Gangway.open({
      nodeArgs: ['--trace-gc'],
      env: { GANGWAY_GATEWAY_THREADS: '2' },
    });
  });
  after(() => gangway.end());

  /** Threads that asked for a collection: what V8 does by itself has other reasons. */
  const asked = (): Set<string> => {
    const lines = gangway.output.matchAll(/\[\d+:(0x\w+)\] .*Mark-Compact.*testing/g);
    return new Set(Array.from(lines, ([, thread = '']) => thread));
  };

  it('is given back at rest on home and on each gateway thread', async () => {
    await until('collections', 30_000, () => asked().size === 3);
  });
});
