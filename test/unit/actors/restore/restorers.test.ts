import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { SourceParts } from '../../../../src/actors/backup/sources.ts';
import { restorerOf } from '../../../../src/actors/restore/restorers.ts';
import type { RestoreOf } from '../../../../src/backups/restores/restorer-of.ts';

describe('restorerOf()', () => {
  /** Of a machine with Redis, on which nothing is in use. */
  function partsWith(record: object, done: string[]): SourceParts {
    const files = {
      ...{ root: '/nowhere', data: '/nowhere/data', run: '/nowhere/run' },
      ensure: () => Promise.resolve(),
      trees: { settle: (data: string) => Promise.resolve(void done.push(`settle ${data}`)) },
    };
    const tools = {
      find: () => Promise.resolve('/usr/bin/redis-server'),
      ask: () => Promise.resolve('Redis server v=7.0.15 sha=0'),
    };
    const machine = { tools, app: () => files, database: () => files };
    const parts = {
      reader: { get: () => record },
      secrets: { open: () => Buffer.from('secret') },
      placeOf: () => ({ driver: { runs: 'host' }, machine: () => Promise.resolve(machine) }),
    };
    return parts as unknown as SourceParts;
  }

  const of = (kind: 'app' | 'database', source: string): RestoreOf =>
    ({
      ...{ kind, targetId: 'one', restoreId: 'rst_1', bytes: 1, isOwn: false, control: {} },
      artifact: { source, form: source === 'redis' ? 'rdb' : 'tar' },
    }) as unknown as RestoreOf;

  it('removes first what an earlier restore left, which would be put back when this one is cut off', async () => {
    const run = { live: 'one-1', port: 1000, crashing: false };
    const redis = {
      ...{ id: 'one', engine: 'REDIS', version: '7.0.15', uid: 0, run },
      ...{ passwordSealed: '', adminPasswordSealed: '' },
    };
    for (const serverId of ['srv_local', 'srv_other']) {
      for (const [record, asked] of [
        [{ id: 'one', uid: 0, serverId }, of('app', 'app')],
        [{ ...redis, serverId }, of('database', 'redis')],
      ] as const) {
        const done: string[] = [];
        await restorerOf(partsWith(record, done), asked);
        assert.deepEqual(done, ['settle live'], `${asked.kind} ${serverId}`);
      }
    }
  });
});
