import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { activityActorDefinition } from '../../../../src/actors/activity/actor.ts';
import { activityLog } from '../../../../src/actors/activity/protocol.ts';
import { recordActivity } from '../../../../src/actors/activity/record.ts';
import { Causes } from '../../../../src/actors/runtime/causes.ts';
import type { CauseSeed } from '../../../../src/actors/runtime/causes.ts';
import { ActorRuntime } from '../../../../src/actors/runtime/runtime.ts';
import { teamActorDefinition } from '../../../../src/actors/team/actor.ts';
import { teamActor } from '../../../../src/actors/team/protocol.ts';
import { newId } from '../../../../src/lib/ids.ts';
import type { ActivityRecord } from '../../../../src/store/records/records.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { AccountsFixture } from '../../../support/accounts-fixture.ts';
import type { MemoryStore } from '../../../support/memory-store.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { plainSecrets } from '../../../support/plain-secrets.ts';
import { recordingLogger } from '../../../support/silent-logger.ts';

const dayMs = 86_400_000;
const perTeamMax = 100;

describe('activity', () => {
  let fixture: AccountsFixture;
  let store: MemoryStore;
  let runtime: ActorRuntime;
  let clock: ManualClock;
  const causes = new Causes();

  beforeEach(() => {
    fixture = new AccountsFixture();
    store = fixture.store;
    clock = new ManualClock();
    fixture.addUser('ada');
    fixture.addTeam('team_one', 'ada');
    runtime = new ActorRuntime({
      store,
      clock,
      logger: recordingLogger(),
      carry: structuredClone,
      causes,
      recordCause: recordActivity({
        reader: store,
        onMany: (teamId) => {
          runtime.inside.tell(activityLog, { type: 'trim', teamId });
        },
      }),
    });
    runtime.register(teamActorDefinition({ reader: store, clock, secrets: plainSecrets }));
    runtime.register(activityActorDefinition({ reader: store, clock, days: 365, perTeamMax }));
    runtime.start();
  });

  afterEach(async () => {
    await runtime.close();
    await fixture.close();
  });

  const seed = (more: Partial<CauseSeed> = {}): CauseSeed => ({
    id: newId('act', clock.now()),
    atMs: clock.now(),
    action: 'createFolder',
    userId: 'ada',
    tokenId: null,
    teamId: 'team_one',
    address: '192.0.2.1',
    userAgent: 'test',
    via: 'http',
    targetId: null,
    input: {},
    always: false,
    ...more,
  });
  const entries = (teamId: string | null = 'team_one'): Readonly<ActivityRecord>[] =>
    store.list(tables.activity, 'team', [teamId], { limit: 10_000 });
  const create = (name: string) =>
    runtime.ask(teamActor.at('team_one'), { type: 'folder-create', name, parentId: null });
  const nothing = (): void => undefined;

  it('is in the same entry of the journal as the change', async () => {
    const tables: string[][] = [];
    store.subscribe((entry) => tables.push(entry.changes.map(({ table }) => table)));
    await causes.during(seed(), () => create('A'), nothing);
    assert.deepEqual(tables, [['folders', 'activity']]);
    const [entry] = entries();
    assert.equal(entry?.actor, 'person:ada ada@example.org');
    assert.match(entry.target ?? '', /^folder:fld_\w+ A$/);
  });

  it('leaves nothing for what a rule of a table refuses', async () => {
    await create('A');
    await assert.rejects(
      causes.during(seed(), () => create('A'), nothing),
      { code: 'CONFLICT' },
    );
    assert.deepEqual(entries(), []);
  });

  it('is one entry for a request of many messages, and none for what comes after it', async () => {
    let later: (() => Promise<unknown>) | undefined;
    await causes.during(
      seed(),
      async () => {
        await create('A');
        await create('B');
        later = () => create('C');
      },
      nothing,
    );
    await later?.();
    await create('D');
    assert.equal(entries().length, 1);
  });

  it('keeps requests at the same time apart', async () => {
    await Promise.all(
      ['A', 'B', 'C'].map((name) =>
        causes.during(seed({ action: `make ${name}` }), () => create(name), nothing),
      ),
    );
    const told = entries().map(({ action, target }) => `${action} ${String(target?.at(-1))}`);
    assert.deepEqual(told.sort(), ['make A A', 'make B B', 'make C C']);
  });

  it('says of a request that failed after it had changed something that it did', async () => {
    const cause = seed();
    await causes.during(cause, () => create('A'), nothing);
    await runtime.ask(activityLog, { type: 'failed', id: cause.id, code: 'CONFLICT' });
    assert.equal(entries()[0]?.details['failed'], 'CONFLICT');
  });

  it('is dropped in batches when it is too old, and again a day later', async () => {
    const old = clock.now() - 366 * dayMs;
    store.write(
      Array.from({ length: 2_500 }, (_, i) =>
        put(tables.activity, entryAt(old + i, `old${String(i)}`)),
      ),
    );
    store.write([put(tables.activity, entryAt(clock.now() - 364 * dayMs, 'young'))]);
    await runtime.ask(activityLog, { type: 'prune' });
    assert.deepEqual(
      entries().map(({ action }) => action),
      ['young'],
    );
    await clock.advance(2 * dayMs);
    await runtime.ask(activityLog, { type: 'note' });
    assert.deepEqual(entries(), []);
  });

  it('is bounded for a team, the oldest going first, also while it comes fast', async () => {
    store.write(
      Array.from({ length: 500 }, (_, i) => put(tables.activity, entryAt(i, `a${String(i)}`))),
    );
    for (let i = 0; i < 500; i++) {
      await causes.during(
        seed({ always: true }),
        () => runtime.ask(activityLog, { type: 'note' }),
        nothing,
      );
    }
    await runtime.ask(activityLog, { type: 'note' });
    const kept = entries();
    assert.equal(kept.length, perTeamMax);
    assert.ok(kept.every(({ action }) => action === 'createFolder'));
  });

  function entryAt(atMs: number, action: string): ActivityRecord {
    const id = newId('act', atMs);
    return { id, teamId: 'team_one', atMs, actor: 'nobody', action, target: null, details: {} };
  }
});
