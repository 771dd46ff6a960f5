/** What callers get of a place that does not answer, or not in time: of a runner that stands still. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { servingArchive } from '../support/console-place.ts';
import type { AppInfo } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { secondMs, TimeMachine } from '../support/time-machine.ts';

const waitMs = 20_000;
const dropped = 'gangway_http_dropped_answers_total{why="late"}';

describe('a service with a slow command', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gangway-hung-'));
  // The uid of the app leaves files there.
  chmodSync(folder, 0o777);
  const time = new TimeMachine(join(folder, 'time'));
  let gangway: Gangway;
  let app: AppInfo;
  before(async () => {
    const env = { GANGWAY_GATEWAY_THREADS: '1', GANGWAY_ANSWER_SECONDS: '20' };
    gangway = await Gangway.open(time.options(env));
    app = await gangway.client.runningApp('Slow', servingArchive);
  });
  after(async () => {
    try {
      await gangway.end();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('answerSeconds end the wait for an answer, with an error of GraphQL', async () => {
    const [begun, next] = [join(folder, 'begun'), join(folder, 'next')];
    const exec = (command: string): string =>
      `execConsole(appId: "${app.id}", command: "${command}") { exitCode }`;
    const query = `mutation { a: ${exec(`touch ${begun}; sleep 50`)} b: ${exec(`touch ${next}`)} }`;
    const answer = gangway.client.graphql(query);
    await until('the first has begun', waitMs, () => existsSync(begun));
    await time.jump(30 * secondMs);
    const { status, errors, headers } = await answer;
    assert.equal(status, 504);
    assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
    const codes = errors.map(({ extensions: { code } }) => code);
    assert.deepEqual(codes, ['DEADLINE_EXCEEDED']);
    // Whatever comes of it later is dropped, and the service lives.
    await until('the late answer is dropped', waitMs, async () => {
      const { text } = await gangway.client.ask('/metrics');
      return text.includes(`${dropped} 1\n`);
    });
    assert.equal(gangway.logged('answer_dropped').length, 1);
    // Nobody waited for the second.
    assert.equal(existsSync(next), false);
  });
});
