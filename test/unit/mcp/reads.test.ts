import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { activityActorDefinition } from '../../../src/actors/activity/actor.ts';
import type { Actors } from '../../../src/actors/runtime/actor.ts';
import { ActorRuntime } from '../../../src/actors/runtime/runtime.ts';
import { ServiceError } from '../../../src/lib/errors.ts';
import type { McpPrincipal } from '../../../src/mcp/tool.ts';
import { McpReads } from '../../../src/mcp/reads.ts';
import type { ActivityRecord } from '../../../src/store/records/records.ts';
import { tables } from '../../../src/store/records/tables.ts';
import { AccountsFixture } from '../../support/accounts-fixture.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import type { MemoryStore } from '../../support/memory-store.ts';
import { recordingLogger } from '../../support/silent-logger.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

function token(tokenId: string, teamId = 'team_one'): McpPrincipal {
  return { kind: 'token', userId: 'ada', tokenId, teamId };
}

describe('McpReads', () => {
  let fixture: AccountsFixture;
  let store: MemoryStore;
  let runtime: ActorRuntime;
  let clock: ManualClock;
  let commits: number;

  beforeEach(() => {
    fixture = new AccountsFixture();
    store = fixture.store;
    clock = new ManualClock();
    commits = 0;
    fixture.addUser('ada');
    fixture.addTeam('team_one', 'ada');
    store.subscribe(() => (commits += 1));
    runtime = new ActorRuntime({ store, clock, logger: recordingLogger(), carry: structuredClone });
    const bounds = { days: 365, perTeamMax: 1_000 };
    runtime.register(activityActorDefinition({ reader: store, clock, ...bounds }));
    runtime.start();
  });

  afterEach(async () => {
    await runtime.close();
    await fixture.close();
  });

  const open = (more: { actors?: Pick<Actors, 'ask'>; rowsMax?: number } = {}): McpReads =>
    new McpReads({ actors: runtime, reader: store, clock, log: recordingLogger(), ...more });
  const entries = (teamId = 'team_one'): Readonly<ActivityRecord>[] =>
    store.list(tables.activity, 'team', [teamId]);
  const told = (teamId?: string): unknown[] =>
    entries(teamId).map(({ details: { client, calls } }) => [client, calls]);

  it('has an entry seconds after the first read, which says who read what and when', async () => {
    const reads = open();
    const first = new Date(clock.now()).toISOString();
    reads.note(token('tok_1'), 'claude-code', 'list_apps');
    await clock.advance(500);
    reads.note(token('tok_1'), 'claude-code', 'read_logs');
    await clock.advance(500);
    const [entry, ...others] = entries();
    assert.deepEqual(others, []);
    assert.equal(entry?.actor, 'token:tok_1 of ada@example.org');
    assert.equal(entry.action, 'mcp_reads');
    assert.equal(entry.target, null);
    assert.deepEqual(entry.details, {
      userId: 'ada',
      tokenId: 'tok_1',
      via: 'mcp',
      client: 'claude-code',
      day: first.slice(0, 10),
      calls: { list_apps: 1, read_logs: 1 },
      first,
      last: new Date(clock.now() - 500).toISOString(),
    });
  });

  it('adds later reads of the day to the same entry, within a minute', async () => {
    const reads = open();
    reads.note(token('tok_1'), 'cursor', 'list_apps');
    await clock.advance(1_000);
    const [before] = entries();
    for (let i = 0; i < 12; i++) reads.note(token('tok_1'), 'cursor', 'list_apps');
    reads.note(token('tok_1'), 'cursor', 'get_app');
    await clock.advance(minuteMs);
    assert.deepEqual(told(), [['cursor', { list_apps: 13, get_app: 1 }]]);
    assert.equal(entries()[0]?.id, before?.id);
  });

  it('keeps tokens, clients and teams apart', async () => {
    const reads = open();
    reads.note(token('tok_1'), 'cursor', 'list_apps');
    reads.note(token('tok_1'), 'claude-code', 'list_apps');
    reads.note(token('tok_1'), null, 'list_apps');
    reads.note(token('tok_2'), 'cursor', 'list_apps');
    reads.note(token('tok_2', 'team_two'), 'cursor', 'list_apps');
    await clock.advance(1_000);
    const clients = entries().map(({ details }) => String(details['client']));
    assert.deepEqual(clients.sort(), ['claude-code', 'cursor', 'cursor', 'null']);
    assert.deepEqual(told('team_two'), [['cursor', { list_apps: 1 }]]);
  });

  it('begins a new entry at midnight, UTC, and still tells the old one', async () => {
    const reads = open();
    const untilMidnight = 24 * hourMs - (clock.now() % (24 * hourMs));
    await clock.advance(untilMidnight - 30_000);
    reads.note(token('tok_1'), 'cursor', 'list_apps');
    await clock.advance(10_000);
    reads.note(token('tok_1'), 'cursor', 'list_apps');
    await clock.advance(20_000);
    reads.note(token('tok_1'), 'cursor', 'read_logs');
    await clock.advance(minuteMs);
    assert.deepEqual(told(), [
      ['cursor', { list_apps: 2 }],
      ['cursor', { read_logs: 1 }],
    ]);
    const [yesterday, today] = entries().map(({ details }) => details['day']);
    assert.notEqual(yesterday, today);
  });

  it('goes on in the same entry after a restart on the same day', async () => {
    const first = open();
    first.note(token('tok_1'), 'cursor', 'list_apps');
    await clock.advance(1);
    first.note(token('tok_1'), null, 'list_apps');
    await first.close();
    const second = open();
    await clock.advance(hourMs);
    second.note(token('tok_1'), 'cursor', 'list_apps');
    second.note(token('tok_1'), 'cursor', 'get_app');
    second.note(token('tok_1'), null, 'get_app');
    await second.close();
    assert.equal(entries().length, 2);
    assert.deepEqual(told(), [
      ['cursor', { list_apps: 2, get_app: 1 }],
      [null, { list_apps: 1, get_app: 1 }],
    ]);
  });

  it('costs a fleet a few commits a minute', async () => {
    const reads = open();
    await clock.advance(hourMs);
    commits = 0;
    for (let second = 0; second < 60; second++) {
      for (let i = 0; i < 200; i++) {
        // Half of them come one after the other.
        if (i % 2 === 0 || i < second * 4) reads.note(token(`tok_${i}`), 'cursor', 'list_apps');
      }
      await clock.advance(1_000);
    }
    assert.ok(commits <= 7, `${commits} commits`);
    await reads.close();
    assert.equal(entries().length, 200);
    assert.deepEqual(told()[0], ['cursor', { list_apps: 60 }]);
  });

  it('gives eight clients of a token their own names, also over a restart', async () => {
    for (const names of [0, 5, 10]) {
      const reads = open();
      for (let i = names; i < names + 7; i++)
        reads.note(token('tok_1'), `client-${i}`, 'list_apps');
      await reads.close();
    }
    const clients = entries().map(({ details }) => String(details['client']));
    assert.equal(clients.length, 9);
    assert.deepEqual(clients.filter((name) => /^client-[0-7]$/.test(name)).length, 8);
    const [, calls] = told().find((one) => (one as unknown[])[0] === 'other') as unknown[];
    // 0…6 and 7 have names; 8…11 came once, 10…16 once more.
    assert.deepEqual(calls, { list_apps: 11 });
  });

  it('shows of what a client calls itself what can be shown, and as one', async () => {
    const reads = open();
    const hostile = `Evil\u001b[2J\r\n\u202e\u0000${'x'.repeat(10_000)}`;
    reads.note(token('tok_1'), hostile, 'list_apps');
    reads.note(token('tok_1'), hostile, 'list_apps');
    await clock.advance(1);
    reads.note(token('tok_2'), '\u202e\u200b', 'list_apps');
    await reads.close();
    const [named, nameless] = entries().map(({ details }) => details);
    assert.match(String(named?.['client']), /^Evil\[2Jx{80,96}$/);
    assert.deepEqual(named?.['calls'], { list_apps: 2 });
    assert.equal(nameless?.['client'], null);
  });

  it('tells again what could not be told, and nothing twice', async () => {
    let failing = true;
    const ask: Actors['ask'] = async (...args) => {
      const answer = await runtime.ask(...args);
      // The worst case: it was written, and nobody heard of it.
      if (failing) throw new ServiceError('DEADLINE_EXCEEDED', 'No answer came.');
      return answer;
    };
    const reads = open({ actors: { ask } });
    reads.note(token('tok_1'), 'cursor', 'list_apps');
    await clock.advance(1_000);
    failing = false;
    reads.note(token('tok_1'), 'cursor', 'list_apps');
    await clock.advance(minuteMs);
    assert.deepEqual(told(), [['cursor', { list_apps: 2 }]]);
  });

  it('holds so many rows, and makes room by forgetting what was told', async () => {
    const reads = open({ rowsMax: 10 });
    for (let i = 0; i < 15; i++) reads.note(token(`tok_${i}`), 'cursor', 'list_apps');
    await clock.advance(1_000);
    assert.equal(entries().length, 10);
    for (let i = 0; i < 15; i++) reads.note(token(`tok_${i}`), 'cursor', 'list_apps');
    await reads.close();
    const counts = entries().map(({ details }) => details['calls'] as { list_apps: number });
    const total = counts.reduce((sum, calls) => sum + calls.list_apps, 0);
    assert.equal(total, 20);
  });

  it('waits for nothing when there is nothing to tell', async () => {
    const reads = open();
    await reads.close();
    await reads.close();
    assert.equal(commits, 0);
  });
});
