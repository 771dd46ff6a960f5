/** A log of a million lines, one of them made to be looked at for ever, on a whole Gangway. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';
import { Gangway } from '../support/gangway.ts';
import { storeLog } from '../support/stored-logs.ts';

const count = 1_000_000;
const firstMs = Date.parse('2026-03-04T05:06:07.000Z');
const trapAt = 900_000;

/** A line each ten milliseconds. */
function* lines() {
  for (let i = 1; i <= count; i++) {
    const text = i === trapAt ? `${'a'.repeat(1024 * 1024)}!` : `line ${i}`;
    yield { text, atMs: firstMs + i * 10 };
  }
}

interface Line {
  offset: number;
  at: string;
  text: string;
}
interface Logs {
  logs: {
    nodes: Line[];
    range: { firstOffset: number; nextOffset: number };
    pageInfo: { hasNextPage: boolean };
  };
}
interface Search {
  searchLogs: {
    nodes: Line[];
    complete: boolean;
    pageInfo: { endCursor: string };
  };
}

describe('a log of a million lines', () => {
  const cleanup = cleanups();
  let gangway: Gangway;
  let appId = '';
  before(async () => {
    gangway = await Gangway.open();
    cleanup(() => gangway.end());
    ({ id: appId } = await gangway.client.createApp('Long'));
    await storeLog(join(gangway.dataDir, 'logs'), `app:${appId}`, lines(), { blockLines: 5_000 });
  });

  const page = async (args: string) => {
    const fields =
      'nodes { offset at text } range { firstOffset nextOffset } pageInfo { hasNextPage }';
    const { logs } = await gangway.client.must<Logs>(
      `{ logs(appId: "${appId}", ${args}) { ${fields} } }`,
    );
    return logs;
  };

  /** All that a search finds, and how many calls that took. */
  async function found(args: string): Promise<{ offsets: number[]; calls: number }> {
    const offsets: number[] = [];
    let after = '';
    for (let calls = 1; ; calls++) {
      const { searchLogs } = await gangway.client.must<Search>(
        `{ searchLogs(appId: "${appId}", ${args}${after}) {
          nodes { offset at text } complete pageInfo { endCursor } } }`,
      );
      offsets.push(...searchLogs.nodes.map(({ offset }) => offset));
      if (searchLogs.complete) return { offsets, calls };
      after = `, after: "${searchLogs.pageInfo.endCursor}"`;
    }
  }

  it('is read at any place of it, by offset and by time', async () => {
    const middle = await page('from: 500000, tail: 3');
    assert.deepEqual(
      middle.nodes.map(({ offset, text }) => [offset, text]),
      [500_000, 500_001, 500_002].map((offset) => [offset, `line ${offset}`]),
    );
    assert.deepEqual(middle.range, { firstOffset: 1, nextOffset: count + 1 });
    assert.equal(middle.pageInfo.hasNextPage, true);
    const at = await page(`at: "${new Date(firstMs + 7_654_321).toISOString()}", tail: 1`);
    assert.equal(at.nodes[0]?.offset, 765_433);
    assert.deepEqual((await page(`from: ${count + 1}, tail: 5`)).nodes, []);
    assert.equal((await page('from: 0, tail: 1')).nodes[0]?.offset, 1);
    const { client } = gangway;
    for (const args of ['from: -1', 'from: 1.5', 'from: 3, after: "x"']) {
      const query = `{ logs(appId: "${appId}", ${args}) { nodes { text } } }`;
      assert.equal(await client.fails(query), 'BAD_USER_INPUT', args);
    }
  });

  it('is searched to its start, the newest lines first', async () => {
    const { offsets } = await found('text: "LINE 77777"');
    const expected = [777_779, 777_778, 777_777, 777_776, 777_775, 777_774, 777_773, 777_772, 777_771, 777_770, 77_777]; // prettier-ignore
    assert.deepEqual(offsets, expected);
    assert.deepEqual((await found('text: "^line 9*$", regex: true')).offsets, [999_999, 99_999, 9_999, 999, 99, 9]); // prettier-ignore
  });

  it('holds nobody up with a line and an expression that were made for each other', async () => {
    const trap = found('text: "^(a+)+$", regex: true');
    const other = found('text: "line 123456"');
    assert.equal((await fetch(`${gangway.url}/api/health`)).status, 200);
    assert.deepEqual((await other).offsets, [123_456]);
    assert.deepEqual((await trap).offsets, []);
    assert.deepEqual((await found('text: "^(a+)+!$", regex: true')).offsets, [trapAt]);
  });
});
