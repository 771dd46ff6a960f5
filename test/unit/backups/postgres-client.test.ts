import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { asPostgresAdmin } from '../../../src/backups/postgres-client.ts';
import type { DatabaseTarget } from '../../../src/backups/targets.ts';

const timeoutMs = 10_000;

describe('asPostgresAdmin() on another server', () => {
  const asked = (connect: DatabaseTarget['connect']): Promise<unknown> => {
    const target = {
      socket: '/run/db_1',
      port: 5432,
      adminPassword: 'secret',
      password: '',
      connect,
    };
    const work = () => Promise.resolve(null);
    return asPostgresAdmin(target as DatabaseTarget, 'postgres', 'DUMP_FAILED', work);
  };
  const withTimers = (t: TestContext): void => t.mock.timers.enable({ apis: ['setTimeout'] });

  it('waits for a connection so long, and no longer', async (t) => {
    withTimers(t);
    const begun = Promise.withResolvers<undefined>();
    const asking = asked(async (path, signal) => {
      assert.equal(path, '/run/db_1/.s.PGSQL.5432');
      begun.resolve(undefined);
      await once(signal, 'abort');
      throw signal.reason;
    });
    await begun.promise;
    t.mock.timers.tick(timeoutMs - 1);
    t.mock.timers.tick(1);
    await assert.rejects(asking, { code: 'AGENT_UNREACHABLE' });
  });

  it('never breaks one that there is', async (t) => {
    withTimers(t);
    const signals: AbortSignal[] = [];
    const sent = Promise.withResolvers<undefined>();
    const silent = new Duplex({ read: () => undefined, write: () => sent.resolve(undefined) });
    const asking = asked((_path, signal) => {
      signals.push(signal);
      return Promise.resolve(silent);
    });
    await sent.promise;
    t.mock.timers.tick(10 * timeoutMs);
    // The server never says that it is one.
    await assert.rejects(asking, /timeout/);
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [false],
    );
  });
});
