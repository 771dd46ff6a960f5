/** Options about threads: how many are started, and for what; the platform runs in this process. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { anonymous } from '../../src/auth/callers/principal.ts';
import { resolveConfig } from '../../src/config.ts';
import { Core } from '../../src/service/core.ts';
import { serveGraphql } from '../../src/service/graphql.ts';
import { eventually } from '../support/eventually.ts';
import { archiveOf } from '../support/gangway-client.ts';
import { PlatformPlace } from '../support/platform-place.ts';

describe('options about threads', () => {
  const env = { GANGWAY_BULK_THREADS: '3' };
  const place = new PlatformPlace(env);
  let started = 0;
  const count = (): void => {
    started += 1;
  };
  before(async () => {
    await place.open();
    process.on('worker', count);
  });
  after(async () => {
    process.off('worker', count);
    await place.close();
  });

  /** How many threads a query of some cost starts, looked at when there are `expected`. */
  async function startedBy(expected: number, variables: Record<string, string>): Promise<number> {
    const { config } = resolveConfig({ GANGWAY_DATA_DIR: place.dataDir, ...variables });
    const { logger, platform: ground } = place;
    const core = new Core({ config, logger, ground });
    const graphql = serveGraphql(core, {
      accounts: () => Promise.reject(new Error('nobody signs in')),
      queryThreads: config.queryThreads,
    });
    const before = started;
    // Below the default of the option. It is answered here; threads are for those that come next.
    const query = '{ apps(first: 8) { nodes { id name } } }';
    await graphql.execute(query, {}, anonymous);
    await eventually('threads', () => started - before >= expected);
    const now = started - before;
    await graphql.close();
    core.authenticator.close();
    return now;
  }

  it('inlineQueryCost says which queries need none', async () => {
    assert.equal(await startedBy(0, { GANGWAY_INLINE_QUERY_COST: '1000000' }), 0);
    assert.equal(await startedBy(1, { GANGWAY_INLINE_QUERY_COST: '1' }), 1);
  });

  it('queryThreads says how many answer queries', async () => {
    const variables = { GANGWAY_INLINE_QUERY_COST: '1', GANGWAY_QUERY_THREADS: '3' };
    assert.equal(await startedBy(3, variables), 3);
  });

  it('bulkThreads says how many receive archives, and how many unpack them', async () => {
    const { bulk } = place.platform;
    const dir = join(place.dataDir, 'uploads', 'app_1');
    mkdirSync(dir, { recursive: true });
    const before = started;
    const receiving = await Promise.all(
      [1, 2, 3, 4].map((i) =>
        bulk.receive({
          ...{ format: 'tar.gz', blob: `${String(i)}.tgz`, dir },
          onRoom: () => undefined,
          onFailure: () => undefined,
        }),
      ),
    );
    await eventually('three that receive', () => started - before === 3);
    const archive = join(place.dataDir, 'archive.tgz');
    writeFileSync(archive, archiveOf({ 'index.html': 'hi' }));
    await Promise.all(
      [1, 2, 3, 4].map((i) =>
        bulk.extract(archive, 'tar.gz', join(place.dataDir, `out-${String(i)}`)),
      ),
    );
    assert.equal(started - before, 6);
    await Promise.all(receiving.map((file) => file.abort()));
  });
});
