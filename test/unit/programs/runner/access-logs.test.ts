import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { AccessLogs } from '../../../../src/programs/runner/edge/access-logs.ts';
import { decodeRecords } from '../../../../src/protocol/log-records.ts';
import { accessLogOf, type LogEntry } from '../../../../src/protocol/workload.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { noLog } from '../../../support/runner.ts';

describe('AccessLogs', () => {
  let dir: string;
  let clock: ManualClock;
  let logs: AccessLogs;
  beforeEach(() => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'gangway-access-'));
    clock = new ManualClock();
    logs = new AccessLogs(dir, clock, noLog);
  });
  afterEach(() => {
    logs.close();
    fs.rmSync(dir, { recursive: true });
  });
  const hear = (...told: unknown[]): void => logs.hear(told, (app) => app.startsWith('app_'));
  const never = new AbortController().signal;
  const read = async (app: string, afterSeq = 0): Promise<LogEntry[]> => {
    const answer = await logs.output(accessLogOf(app))?.read(afterSeq, 100_000, never);
    return answer === undefined ? [] : decodeRecords(answer.records, answer.firstSeq);
  };
  const textsOf = (entries: readonly LogEntry[]): string[] =>
    entries.map(({ bytes, stream }) => `${stream} ${Buffer.from(bytes).toString()}`);

  it('gives lines to whoever reads, also one that waits for the first', async () => {
    const first = read('app_a');
    hear(['app_a', 'one\ntwo\n'], ['app_b', 'other\n']);
    assert.deepEqual(textsOf(await first), ['access one\n', 'access two\n']);
    assert.deepEqual(textsOf(await read('app_b')), ['access other\n']);
  });

  it('has them for the next runner, which goes on with their numbers', async () => {
    hear(['app_a', 'one\n']);
    const [one] = await read('app_a');
    logs.close();
    logs = new AccessLogs(dir, clock, noLog);
    hear(['app_a', 'two\n']);
    const entries = await read('app_a');
    assert.deepEqual(textsOf(entries), ['access one\n', 'access two\n']);
    assert.deepEqual(
      entries.map(({ seq }) => seq),
      [one?.seq, (one?.seq ?? 0) + 1],
    );
  });

  it('begins behind all numbers that it ever gave when its files are lost', async () => {
    hear(['app_a', 'one\ntwo\n']);
    const before = await read('app_a');
    logs.forget('app_a');
    await clock.advance(1);
    hear(['app_a', 'three\n']);
    const behind = await read('app_a', before.at(-1)?.seq);
    assert.deepEqual(textsOf(behind), ['access three\n']);
  });

  it('ends for its readers when the app is gone for good', async () => {
    const waiting = logs.output(accessLogOf('app_a'))?.read(0, 1000, never);
    logs.forget('app_a');
    assert.equal((await waiting)?.ended, true);
    assert.deepEqual(fs.readdirSync(path.join(dir, 'access')), []);
  });

  it('believes an edge nothing of apps that nothing leads to, and no more than a message holds', () => {
    hear(null, 7, [], ['app_a'], ['app_a', 7], ['db_x', 'x\n'], ['../x', 'x\n']);
    assert.equal(fs.existsSync(path.join(dir, 'access')), false);
    assert.equal(logs.output('app_a'), undefined);
    assert.equal(logs.output('access:../x'), undefined);
  });
});
