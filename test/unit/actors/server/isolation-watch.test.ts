import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { ActorRuntime } from '../../../../src/actors/runtime/runtime.ts';
import { serversDefinition } from '../../../../src/actors/server/actor.ts';
import { IsolationWatch } from '../../../../src/actors/server/isolation-watch.ts';
import type { DriverEvent } from '../../../../src/drivers/driver.ts';
import { ServiceError } from '../../../../src/lib/errors.ts';
import { isolationLayers, lostWithout } from '../../../../src/protocol/isolation.ts';
import type { IsolationLayer, LayerState } from '../../../../src/protocol/isolation.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';
import { memoryLogger } from '../../../support/memory-logger.ts';
import { noAuthority } from '../../../support/agent-requests.ts';
import { MemoryStore } from '../../../support/memory-store.ts';

const away = new ServiceError('AGENT_UNREACHABLE', 'The process runner does not answer.');
const missing = 'It is not there.';
const without = (...lacks: IsolationLayer[]): LayerState[] =>
  isolationLayers.map((layer) => ({ layer, missing: lacks.includes(layer) ? missing : null }));

describe('the watch of the layers of isolation', () => {
  let store: MemoryStore;
  let runtime: ActorRuntime;
  let logger: ReturnType<typeof memoryLogger>;
  let layers: LayerState[] | null;
  let watches: IsolationWatch[];
  let listeners: Set<(event: DriverEvent) => void>;

  beforeEach(() => {
    store = new MemoryStore();
    const clock = new ManualClock();
    logger = memoryLogger();
    runtime = new ActorRuntime({ store, clock, logger, carry: structuredClone });
    runtime.register(serversDefinition({ reader: store, clock, authority: noAuthority }));
    runtime.start();
    layers = null;
    watches = [];
    listeners = new Set();
  });
  afterEach(async () => {
    for (const watch of watches) watch.close();
    await runtime.close();
  });

  async function start(options: { unfit?: string; containers?: boolean } = {}) {
    const isolation = (): Promise<LayerState[]> =>
      layers === null ? Promise.reject(away) : Promise.resolve(layers);
    const watch = new IsolationWatch({
      driver: {
        ...(options.containers !== true && { isolation }),
        watch: (listener) => {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
      },
      actors: runtime.inside,
      logger,
      unfit: options.unfit ?? null,
    });
    watches.push(watch);
    watch.start();
    await settle();
    return watch;
  }
  async function connect(): Promise<void> {
    for (const tell of listeners) tell({ type: 'connected', workloads: [] });
    await settle();
  }
  const logged = () =>
    logger.events.flatMap(({ level, event, fields }) =>
      event.startsWith('isolation') && level !== 'debug' ? [{ level, event, ...fields }] : [],
    );
  const stored = () => store.get(tables.servers, 'srv_local')?.isolation;

  it('tells them when they are known: to the log once, and to the record of this server', async () => {
    const watch = await start();
    assert.deepEqual([logged(), stored(), watch.warning()], [[], undefined, null]);
    layers = without('network', 'uts');
    await connect();
    await connect();
    const told = (layer: IsolationLayer) => ({ layer, missing, consequence: lostWithout[layer] });
    assert.deepEqual(logged(), [
      { level: 'warn', event: 'isolation_layers_missing', layers: [told('uts'), told('network')] },
    ]);
    assert.deepEqual(stored(), layers);
    assert.match(watch.warning() ?? '', /network: It is not there\. Apps reach each other's ports/);
  });

  it('has no warning where all hold', async () => {
    layers = without();
    const watch = await start();
    assert.deepEqual(logged(), [
      { level: 'info', event: 'isolation', layers: [...isolationLayers] },
    ]);
    assert.equal(watch.warning(), null);
  });

  it('tells again what has changed, as after a restart of the runner', async () => {
    layers = without('network');
    await start();
    layers = without();
    await connect();
    assert.deepEqual(
      logged().map(({ level }) => level),
      ['warn', 'info'],
    );
    assert.deepEqual(stored(), layers);
  });

  it('does not believe what an earlier start knew', async () => {
    layers = without();
    await start();
    layers = null;
    await start();
    assert.equal(store.get(tables.servers, 'srv_local'), undefined);
  });

  it('writes nothing when nothing is new', async () => {
    layers = without();
    await start();
    const { position } = store;
    await connect();
    await start();
    assert.equal(store.position, position);
  });

  it('has one sentence where nothing can be kept apart, also before anybody knows more', async () => {
    const unfit = 'Gangway does not run as root.';
    const watch = await start({ unfit });
    layers = without('network');
    await connect();
    assert.deepEqual(logged(), [
      { level: 'warn', event: 'isolation_layers_missing', detail: unfit },
    ]);
    assert.equal(watch.warning(), unfit);
    assert.deepEqual(stored(), layers);
  });

  it('says nothing where containers keep apps apart', async () => {
    const watch = await start({ unfit: 'Gangway does not run as root.', containers: true });
    assert.deepEqual([logged(), watch.warning(), listeners.size], [[], null, 0]);
  });
});
