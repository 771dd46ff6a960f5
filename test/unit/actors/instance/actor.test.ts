import assert from 'node:assert/strict';
import { it } from 'node:test';

import { certificatesKind } from '../../../../src/actors/certificates/protocol.ts';
import { edgeActor } from '../../../../src/actors/edge/edge-actor.ts';
import { instanceActor, instanceActorDefinition } from '../../../../src/actors/instance/actor.ts';
import { ActorRuntime } from '../../../../src/actors/runtime/runtime.ts';
import type { DomainRecord, InstanceRecord } from '../../../../src/store/records/records.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { eventually } from '../../../support/eventually.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { MemoryStore } from '../../../support/memory-store.ts';
import { recordingLogger } from '../../../support/silent-logger.ts';

it('moves the panel to no domain of an app, and tells of the host that it has then', async (t) => {
  const store = new MemoryStore();
  const domain = { id: 'dom', appId: 'app', teamId: 'team', host: 'shop.example', verifiedAtMs: 1 };
  const wildcard = { ...domain, id: 'wildcard', host: '*.wild.example' };
  const claim = { ...domain, id: 'claim', host: 'claim.example', verifiedAtMs: null };
  store.write([
    put(tables.instance, { id: 'instance', publicUrl: null } as unknown as InstanceRecord),
    ...[domain, wildcard, claim].map((one) =>
      put(tables.domains, { certificateId: null, nextTryAtMs: null, ...one } as DomainRecord),
    ),
  ]);
  const runtime = new ActorRuntime({
    ...{ store, clock: new ManualClock(), logger: recordingLogger(), carry: structuredClone },
  });
  t.after(() => runtime.close());
  const told: string[] = [];
  const hear = (what: string) => (): boolean => told.push(what) > 0;
  runtime.register(instanceActorDefinition({ reader: store }));
  runtime.register({
    kind: edgeActor,
    activate: () => ({
      ...{ sync: hear('edge'), route: hear('route'), certificates: hear('keys') },
      heard: () => null,
    }),
  });
  runtime.register({
    kind: certificatesKind,
    activate: () => ({ sweep: () => (hear('orders')(), null), order: () => null }),
  });
  const update = (publicUrl: string) =>
    runtime.ask(instanceActor.at('instance'), { type: 'update', patch: { publicUrl } });
  await assert.rejects(update('https://shop.example'), {
    code: 'CONFLICT',
    message: 'shop.example is a domain of an app: remove it there first.',
  });
  await assert.rejects(update('https://panel.wild.example:8443'), {
    code: 'CONFLICT',
    message: '*.wild.example is a domain of an app: remove it there first.',
  });
  assert.deepEqual(told, []);
  await update('https://claim.example');
  await eventually('word of it', () => told.length === 2);
  assert.deepEqual(told.sort(), ['edge', 'orders']);
  await update('https://claim.example');
  assert.equal(told.length, 2, 'the same again is nothing new');
});
