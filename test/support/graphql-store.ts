/** The data of `GraphqlFixture` in a real store and real logs, with the pool that reads them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAccountReads } from '../../src/auth/callers/account-reads.ts';
import { defaultLimits, type ReadSide } from '../../src/graphql/context.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { LogName } from '../../src/logs/files/log.ts';
import { LogFiles } from '../../src/logs/files/reader.ts';
import { LogWriter } from '../../src/logs/files/writer.ts';
import { openMetricsReader } from '../../src/metrics/metrics-files.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { put, type Change, type Table } from '../../src/store/records/table.ts';
import { tables } from '../../src/store/records/tables.ts';
import { QueryPool } from '../../src/workers/query-pool.ts';
import type { QuerySetup } from '../../src/workers/tasks/query.ts';
import { GraphqlFixture, settings } from './graphql-fixture.ts';
import { recordingLogger } from './silent-logger.ts';

export interface GraphqlStore {
  fixture: GraphqlFixture;
  store: Store;
  read: ReadSide;
  pool: QueryPool;
  commit(...changes: Change[]): Promise<number>;
  close(): Promise<void>;
}

export async function openGraphqlStore(): Promise<GraphqlStore> {
  const dir = await mkdtemp(join(tmpdir(), 'gangway-graphql-'));
  const logger = recordingLogger();
  const fixture = new GraphqlFixture();
  const store = await openStore({ dir, logger });
  const epoch = store.nextEpoch('test:1');
  const commit = (...changes: Change[]) => store.commit({ actor: 'test:1', epoch, changes });
  for (const table of Object.values(tables) as Table<unknown>[]) {
    const changes = [...fixture.accounts.store.scan(table)].map((record) => put(table, record));
    if (changes.length > 0) await commit(...changes);
  }
  const logsDir = join(dir, 'logs');
  const writer = new LogWriter({ dir: logsDir, logger });
  for (const [log, lines] of fixture.logs.lines as Map<LogName, []>) {
    writer.append(log, lines);
    await writer.sync(log);
  }
  const setup: QuerySetup = {
    reader: store.readerOptions(),
    logsDir,
    metricsDir: join(dir, 'metrics'),
    settings,
    limits: defaultLimits,
  };
  const pool = new QueryPool({ threads: 1, setup, clock: systemClock, logger });
  return {
    fixture,
    store,
    read: {
      reader: store,
      logs: new LogFiles(logsDir),
      metrics: openMetricsReader(join(dir, 'metrics')),
      accounts: createAccountReads(store),
      settings,
    },
    pool,
    commit,
    async close() {
      await pool.close();
      await writer.close();
      await store.close();
      await fixture.close();
      await rm(dir, { recursive: true });
    },
  };
}
