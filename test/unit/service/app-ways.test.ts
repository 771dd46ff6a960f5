import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex, duplexPair } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { ServiceError } from '../../../src/lib/errors.ts';
import { localServerId } from '../../../src/places/local-place.ts';
import type { Place } from '../../../src/places/place.ts';
import { appSocketOf } from '../../../src/protocol/panel-sockets.ts';
import { AppWays, type AppWaysOptions } from '../../../src/service/app-ways.ts';
import type { AppRecord } from '../../../src/store/records/records.ts';
import { put, remove } from '../../../src/store/records/table.ts';
import { tables } from '../../../src/store/records/tables.ts';
import { eventually } from '../../support/eventually.ts';
import { MemoryStore } from '../../support/memory-store.ts';
import { noLog } from '../../support/runner.ts';

const live = { workloadId: 'dpl_1-1', host: '10.213.0.2', port: 4000 };
const app = (id: string, serverId: string, run: object = { live }) =>
  put(tables.apps, { id, slug: id, serverId, deletedAtMs: null, run } as AppRecord);

type Bounds = Pick<AppWaysOptions, 'silenceMs' | 'stalledMs'>;

async function make(t: TestContext, connectTo: Place['connect'], bounds: Bounds = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'gangway-ways-'));
  const store = new MemoryStore();
  store.write([app('app_there', 'srv_other'), app('app_here', localServerId)]);
  writeFileSync(join(dir, appSocketOf('app_there')), 'left by an earlier process');
  const ways = new AppWays({
    ...{ store, dir: () => dir, logger: noLog, ...bounds },
    placeOf: () => ({ connect: connectTo }),
  });
  t.after(() => {
    ways.close();
    rmSync(dir, { recursive: true, force: true });
  });
  await ways.start();
  const has = (id: string): boolean => existsSync(join(dir, appSocketOf(id)));
  const commit = (...changes: Parameters<MemoryStore['write']>[0]) =>
    store.commit({ actor: 'a', epoch: store.nextEpoch('a'), changes: [...changes] });
  const visit = (id = 'app_there') => {
    const socket = connect(join(dir, appSocketOf(id)));
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    return socket;
  };
  /** What a visitor gets for a request. */
  const ask = async (id?: string): Promise<string> => {
    const socket = visit(id);
    let text = '';
    for await (const chunk of socket) text += String(chunk);
    return text;
  };
  await eventually('it listens', () =>
    ask().then(
      () => true,
      () => false,
    ),
  );
  return { has, commit, visit, ask, ways };
}

/** An app that answers with what it was asked. */
function echoing(asked: unknown[]): Place['connect'] {
  return (to, _signal, visitorsOf) => {
    asked.push({ ...to, visitorsOf });
    const [near, far] = duplexPair();
    far.once('data', (bytes: Buffer) =>
      far.end(`asked: ${bytes.toString().split('\r\n')[0] ?? ''}`),
    );
    return Promise.resolve(near);
  };
}

describe('the way to an app of another server', () => {
  it('leads over the link to what is live of it', async (t) => {
    const asked: unknown[] = [];
    const { ask, has } = await make(t, echoing(asked));
    assert.equal(await ask(), 'asked: GET / HTTP/1.1');
    const { workloadId: workload, host, port } = live;
    assert.deepEqual(asked.at(-1), { workload, host, port, visitorsOf: 'app_there' });
    assert.ok(!has('app_here'));
  });

  it('comes and goes with the app', async (t) => {
    const { has, commit, ways } = await make(t, echoing([]));
    await commit(app('app_new', 'srv_other'));
    await eventually('the new one', () => has('app_new'));
    await commit(app('app_new', localServerId));
    assert.ok(!has('app_new'));
    await commit(remove(tables.apps, 'app_there'));
    assert.ok(!has('app_there'));
    await commit(app('app_there', 'srv_other'));
    await eventually('it is back', () => has('app_there'));
    ways.close();
    assert.ok(!has('app_there'));
  });

  it('says that the other server is away', async (t) => {
    const away = new ServiceError('AGENT_UNREACHABLE', 'The server is not connected.');
    const { ask } = await make(t, () => Promise.reject(away));
    assert.match(await ask(), /^HTTP\/1\.1 503 [\s\S]*Retry-After: 5[\s\S]*is not reached/);
  });

  it('ends where it leads nowhere, and waits for an app that is silent for longer', async (t) => {
    let connectTo = echoing([]);
    const { ask, visit } = await make(t, (...to) => connectTo(...to), { silenceMs: 100 });
    connectTo = () => new Promise(() => undefined);
    const lost = visit().on('error', () => undefined);
    await eventually('it has ended', () => lost.closed);
    connectTo = () => {
      const [near, far] = duplexPair();
      far.once('data', () => setTimeout(() => far.end('at last'), 400));
      return Promise.resolve(near);
    };
    assert.equal(await ask(), 'at last');
  });

  it('ends where the app takes nothing for long: its visitor may be gone', async (t) => {
    let connectTo = echoing([]);
    const { visit } = await make(t, (...to) => connectTo(...to), { stalledMs: 300 });
    const deaf = new Duplex({ read: () => undefined, write: () => undefined });
    connectTo = () => Promise.resolve(deaf);
    const socket = visit();
    socket.write(Buffer.alloc(1_000_000));
    await eventually('it is full', () => deaf.writableNeedDrain || deaf.destroyed);
    socket.destroy();
    await eventually('it has ended', () => deaf.destroyed);
  });

  it('tells apart that the app has too many visitors', async (t) => {
    const full = new ServiceError('OVERLOADED', 'Too much is under way to that server.');
    const { ask } = await make(t, () => Promise.reject(full));
    assert.match(await ask(), /^HTTP\/1\.1 503 [\s\S]*Retry-After: 5[\s\S]*too many visitors/);
  });
});
