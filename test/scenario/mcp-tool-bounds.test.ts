/** Answers of tools where there is much to tell: they fit a context, and nothing is lost by paging. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { capabilities } from '../../src/lib/capabilities.ts';
import type { AppInfo } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { McpClient, textOf, toldBy } from '../support/mcp-client.ts';
import { say, talker } from '../support/talker.ts';

interface Page<T> {
  nodes: T[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

interface Log {
  log: string;
  lines: number;
  endCursor: string;
  hasNextPage: boolean;
  note: string;
}

const appCount = 150;

let gangway: Gangway;
let token: string;
let mcp: McpClient;
let talking: AppInfo;

before(async () => {
  gangway = await Gangway.open({ env: { GANGWAY_MCP_CALLS_PER_MINUTE: '100000' } });
  mcp = new McpClient(gangway.url);
  token = await gangway.client.token({ capabilities });
  talking = await gangway.client.runningApp('Talking', talker);
  await say(gangway.client, talking, '/say', { text: 'first' });
  await until('there is a log', 10_000, async () => (await read({})).lines > 0);
});

after(() => gangway.end());

/** What a call tells, within the bound. */
async function call<T>(name: string, args: object = {}): Promise<T> {
  const answer = await mcp.call(token, name, { ...args });
  assert.ok(answer.result && answer.result.isError !== true, answer.body);
  assert.ok(answer.bytes <= 24_000, `${name}: ${String(answer.bytes)} bytes`);
  return toldBy(answer.result) as T;
}

const read = (args: object): Promise<Log> => call('read_logs', { appId: talking.id, ...args });

/** Lets the app print; what came of it, without its times. */
async function printed(path: string, query: Record<string, string>): Promise<string> {
  const { endCursor } = await read({ tail: 1 });
  await say(gangway.client, talking, path, query);
  let shown = '';
  await until('it is in the log', 10_000, async () => {
    shown = (await read({ after: endCursor })).log;
    return shown !== '';
  });
  return shown.slice(shown.indexOf(' ') + 1);
}

describe('answers of tools', () => {
  it('reach every app exactly once by after, however long their names are', async () => {
    const made = [talking.id];
    for (let i = 0; i < appCount; i += 10) {
      const some = Array.from({ length: 10 }, (_, j) => {
        return gangway.client.createApp(`${String(i + j)} ${'ŵ🌊"'.repeat(23)}`);
      });
      for (const { id } of await Promise.all(some)) made.push(id);
    }
    const seen: string[] = [];
    let pages = 0;
    for (let after: string | null = null, more = true; more; pages++) {
      const args: object = { first: 100, ...(after !== null && { after }) };
      const { apps } = await call<{ apps: Page<AppInfo> }>('list_apps', args);
      seen.push(...apps.nodes.map(({ id }) => id));
      ({ endCursor: after, hasNextPage: more } = apps.pageInfo);
    }
    assert.deepEqual(seen.toSorted(), made.toSorted());
    assert.ok(pages > 2, 'they do not fit one page');
    const found = await call<{ results: object[]; more: number }>('search', { text: 'ŵ' });
    assert.equal(found.results.length + found.more, appCount);
    const query = '{ apps(first: 100) { nodes { id name slug url team { id name slug } } } }';
    const cut = await mcp.call(token, 'graphql_query', { query });
    assert.ok(cut.bytes <= 24_000, String(cut.bytes));
    assert.match(textOf(cut), /Cut to fit 24 kB/);
  });

  it('read a log on from a cursor without loss or repeat', async () => {
    const { endCursor: start } = await read({ tail: 1 });
    await say(gangway.client, talking, '/count', { lines: '5000', bytes: '500' });
    await until('the last line is in the log', 20_000, async () => {
      return (await read({ tail: 1 })).log.includes('no 5000.');
    });
    const numbers: number[] = [];
    for (let after = start, more = true; more;) {
      const page: Log = await read({ after, tail: 2_000 });
      assert.equal(page.log.split('\n').length, page.lines);
      numbers.push(
        ...[...page.log.matchAll(/ no (\d+)\. x+$/gm)].map(([, number]) => Number(number)),
      );
      ({ endCursor: after, hasNextPage: more } = page);
    }
    assert.deepEqual(
      numbers,
      Array.from({ length: 5000 }, (_, i) => i + 1),
    );
    const last = await read({ tail: 2_000 });
    assert.match(last.log, / no 5000\. x+$/);
    assert.match(last.note, /1\d{3} older lines are left out/);
    assert.ok(last.lines > 35, String(last.lines));
  });

  it('find lines far back by what they contain', async () => {
    const found = await read({ contains: 'no 3500.', tail: 5 });
    assert.equal(found.lines, 1);
    assert.match(found.log, / no 3500\. x+$/);
    const none = await read({ contains: 'nowhere' });
    assert.deepEqual([none.log, none.lines], ['', 0]);
    assert.match(none.note, /None of the last 2000 lines contains that/);
  });

  it('tell that there is nothing newer, and go on from there', async () => {
    const { endCursor } = await read({ tail: 1 });
    const page = await read({ after: endCursor });
    assert.deepEqual([page.log, page.lines, page.hasNextPage], ['', 0, false]);
    assert.match(page.note, /Nothing newer yet/);
    await say(gangway.client, talking, '/say', { text: 'something new' });
    await until('it is there', 10_000, async () => {
      const { log, lines } = await read({ after: page.endCursor });
      return lines === 1 && log.endsWith(' something new');
    });
  });

  it('hold the text of lines, whatever bytes they are made of', async () => {
    const colour = await printed('/say', {
      text: '\u001b[31mred\u001b[0m \u001b]0;title\u0007end',
    });
    assert.equal(colour, 'red end');
    assert.equal(await printed('/say', { text: '👩‍👩‍👧 ünï "q" \\ \u2028' }), '👩‍👩‍👧 ünï "q" \\ \u2028');
    assert.equal(await printed('/bytes', { hex: '4100fffe42' }), 'A\ufffd\ufffd\ufffdB');
  });

  it('cut a line that no answer holds', async () => {
    await say(gangway.client, talking, '/count', { lines: '3', bytes: '9000', fill: '👩""""' });
    await until('the last is there', 10_000, async () => {
      const page = await read({ contains: 'no 3. 👩', tail: 1 });
      return page.lines === 1 && page.note.includes('A line was too long');
    });
  });

  it('say how far back they looked, where lines are long', async () => {
    await say(gangway.client, talking, '/count', { lines: '40', bytes: '40000' });
    await until('the last is there', 10_000, async () => {
      return (await read({ contains: 'no 40. x', tail: 1 })).lines === 1;
    });
    const { lines, note } = await read({ contains: 'nowhere' });
    assert.equal(lines, 0);
    assert.match(note, /Only the last \d+ lines were searched/);
  });

  it('hold each line of a log once, as many as fit', async () => {
    await say(gangway.client, talking, '/count', { lines: '2000', bytes: '60' });
    await until('the last line is in the log', 20_000, async () => {
      return (await read({ tail: 1 })).log.includes('no 2000.');
    });
    const args = { appId: talking.id, tail: 2_000 };
    const { bytes, body, result } = await mcp.call(token, 'read_logs', args);
    assert.ok(bytes > 22_000 && bytes <= 24_000, String(bytes));
    assert.equal(result?.structuredContent, undefined);
    assert.equal(body.split(' no 2000.').length, 2);
    const shown = (await read({ tail: 2_000 })).log.split('\n');
    const lineBytes = (shown[0]?.length ?? 0) + '\\n'.length;
    // A line of a hundred bytes comes 220 times, where it came 105 times when it was told twice.
    assert.ok(shown.length >= Math.floor(22_000 / lineBytes) - 1, String(shown.length));
  });
});
