import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { LogSearch, LogSearchResult } from '../../../../src/logs/search/search.ts';
import { decodeCursor } from '../../../../src/graphql/page.ts';
import { eventually } from '../../../support/eventually.ts';
import { startGraphql } from '../../../support/graphql-gateway.ts';

interface Asked {
  search: LogSearch;
  key: string;
  signal: AbortSignal | null;
}

const found: LogSearchResult = {
  generation: 'g1',
  matches: [{ offset: 7, atMs: 5_000, stream: 'stderr', text: 'it failed' }],
  nextBefore: 7,
  scannedToMs: 4_000,
};

interface Page {
  nodes: { text: string; cursor: string }[];
  complete: boolean;
  scannedTo: string;
  pageInfo: { endCursor: string };
}

/** `answer`: of every search; null: none ever comes. */
async function fixture(t: TestContext, answer: LogSearchResult | null, over: 'port' | 'call') {
  const asked: Asked[] = [];
  const place = await startGraphql({
    mutationsOverPort: over === 'port',
    searches: {
      find: (search, { key, signal }) => {
        asked.push({ search, key, signal });
        return answer === null ? new Promise(() => undefined) : Promise.resolve(answer);
      },
    },
  });
  t.after(() => place.close());
  return { ...place, asked };
}

const fields =
  'nodes { at stream text offset cursor } pageInfo { endCursor hasNextPage } scannedTo complete';

describe('searchLogs', () => {
  it('hands on what is looked for, and says what was found and how far it came', async (t) => {
    const place = await fixture(t, found, 'call');
    const { asked } = place;
    const headers = { cookie: place.cookie('usr_vic') };
    const ask = async (args: string) => {
      const query = `{ searchLogs(appId: "app_1", ${args}) { ${fields} } }`;
      const answer = await place.post({ query }, headers);
      const { data } = (await answer.json()) as { data: { searchLogs: Page } };
      return data.searchLogs;
    };
    const first = await ask('text: "fail", since: "1970-01-01T00:00:02.000Z", first: 1');
    const [node] = first.nodes;
    assert.equal(node?.text, 'it failed');
    assert.equal(first.complete, false);
    assert.equal(first.scannedTo, '1970-01-01T00:00:04.000Z');
    assert.equal(decodeCursor('log', node.cursor), 'g1:8');
    const after = first.pageInfo.endCursor;
    await ask(`text: "FAIL", regex: true, caseSensitive: true, after: ${JSON.stringify(after)}`);
    const plain = { log: 'app:app_1', untilMs: null, foundBytesMax: 4 * 1024 * 1024 };
    assert.deepEqual(
      asked.map(({ search, key }) => ({ key, ...search })),
      [
        {
          ...{ ...plain, key: 'usr_vic', text: 'fail', regex: false, caseSensitive: false },
          ...{ sinceMs: 2_000, before: null, matchesMax: 1 },
        },
        {
          ...{ ...plain, key: 'usr_vic', text: 'FAIL', regex: true, caseSensitive: true },
          ...{ sinceMs: null, before: { generation: 'g1', offset: 7 }, matchesMax: 100 },
        },
      ],
    );
  });

  for (const over of ['call', 'port'] as const) {
    it(`is given up when its client has left, by a ${over}`, async (t) => {
      const place = await fixture(t, null, over);
      const { asked, url } = place;
      const leaving = new AbortController();
      const body = JSON.stringify({
        query: '{ searchLogs(appId: "app_1", text: "x") { complete } }',
      });
      const headers = { 'content-type': 'application/json', cookie: place.cookie('usr_ann') };
      const asking = fetch(url, { method: 'POST', body, headers, signal: leaving.signal });
      const left = assert.rejects(asking);
      await eventually('it is searched', () => asked.length === 1);
      assert.equal(asked[0]?.signal?.aborted, false);
      leaving.abort();
      await left;
      await eventually('it is given up', () => asked[0]?.signal?.aborted === true);
    });
  }

  it('is refused over MCP, where a secret of the log could be found letter by letter', async (t) => {
    const { asked, graphql, fixture: world } = await fixture(t, found, 'call');
    const query = '{ searchLogs(appId: "app_1", text: "x") { complete } }';
    const { body } = await graphql.execute(query, {}, world.ann);
    assert.match(Buffer.from(body).toString(), /"FORBIDDEN"/);
    assert.deepEqual(asked, []);
  });
});
