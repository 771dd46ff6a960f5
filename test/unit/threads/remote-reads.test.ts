import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import type { ServiceError } from '../../../src/lib/errors.ts';
import { type Calls, openPortCalls } from '../../../src/lib/port-calls.ts';
import type { McpPrincipal } from '../../../src/mcp/tool.ts';
import { answerReads, type ReadCalls, RemoteReads } from '../../../src/threads/remote-reads.ts';
import { eventually } from '../../support/eventually.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { type LoggedEvent, memoryLogger } from '../../support/memory-logger.ts';

const opened: { close(): void }[] = [];
afterEach(() => {
  for (const one of opened.splice(0)) one.close();
});

function setUp(rowsMax?: number) {
  const { port1, port2 } = new MessageChannel();
  const log = memoryLogger();
  const clock = new ManualClock();
  const home = openPortCalls<Calls, ReadCalls>(port1, { logger: log });
  const thread = openPortCalls<ReadCalls, Calls>(port2, { logger: log });
  opened.push(home, thread);
  const counted: unknown[][] = [];
  answerReads(home, {
    note: (principal, client, tool, count) => {
      const who = principal.kind === 'token' ? principal.tokenId : principal.sessionId;
      counted.push([who, principal.teamId, client, tool, count]);
    },
  });
  const options = { home: thread, clock, log };
  const reads = new RemoteReads(rowsMax === undefined ? options : { ...options, rowsMax });
  return { reads, clock, counted, log, home };
}

const token = (tokenId: string, teamId = 'team_one'): McpPrincipal => ({
  kind: 'token',
  userId: 'ada',
  tokenId,
  teamId,
});

describe('RemoteReads', () => {
  it('tells a moment later who read what how often', async () => {
    const { reads, clock, counted } = setUp();
    for (let i = 0; i < 3; i += 1) reads.note(token('tok_1'), 'agent', 'list_apps');
    reads.note(token('tok_1'), 'agent', 'get_app');
    reads.note(token('tok_1', 'team_two'), null, 'get_app');
    reads.note(token('tok_2'), `${'x'.repeat(100)} and more`, 'get_app');
    assert.deepEqual(counted, []);
    await clock.advance(250);
    await eventually('it is told', () => counted.length > 0);
    assert.deepEqual(counted, [
      ['tok_1', 'team_one', 'agent', 'list_apps', 3],
      ['tok_1', 'team_one', 'agent', 'get_app', 1],
      ['tok_1', 'team_two', null, 'get_app', 1],
      ['tok_2', 'team_one', 'x'.repeat(100), 'get_app', 1],
    ]);
    reads.note(token('tok_1'), 'agent', 'list_apps');
    await reads.close();
    assert.deepEqual(counted.at(-1), ['tok_1', 'team_one', 'agent', 'list_apps', 1]);
    await clock.advance(10_000);
    assert.equal(counted.length, 5);
  });

  it('says what it could not count, and what it could not tell', async () => {
    const { reads, clock, counted, log, home } = setUp(2);
    for (const tool of ['a', 'b', 'c', 'd', 'a']) reads.note(token('tok_1'), null, tool);
    await clock.advance(250);
    await eventually('it is told', () => counted.length === 2);
    assert.deepEqual(log.events, [
      { level: 'warn', event: 'mcp_reads_not_counted', fields: { reads: 2 } },
    ]);
    reads.note(token('tok_1'), null, 'a');
    home.close();
    await reads.close();
    const { event, fields }: LoggedEvent = log.events[1]!;
    const { err, rows } = fields as { err: ServiceError; rows: number };
    assert.deepEqual([event, err.code, rows], ['mcp_reads_not_told', 'SHUTTING_DOWN', 1]);
  });
});
