import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { resultBytesMax, type ToolOutcome } from '../../../src/mcp/tool.ts';
import { cutText, fits, outcomeJson, resultTail } from '../../../src/mcp/results.ts';

const tail = resultTail({ name: 'gangway', version: '1.2.3' });

interface Result {
  content: { type: string; text: string }[];
  structuredContent?: unknown;
  isError?: boolean;
  resultType: string;
  _meta: Record<string, unknown>;
}

function resultOf(outcome: ToolOutcome): Result {
  const json = outcomeJson(outcome, tail);
  assert.ok(Buffer.byteLength(json) <= resultBytesMax, String(Buffer.byteLength(json)));
  return JSON.parse(json) as Result;
}

const structured = (value: unknown): ToolOutcome => ({
  kind: 'structured',
  json: JSON.stringify(value),
});

describe('outcomeJson', () => {
  it('says of every result that it is complete, and who made it', () => {
    const outcomes: ToolOutcome[] = [
      structured({ a: 1 }),
      { kind: 'text', text: 'x' },
      { kind: 'failed', sentence: 'x' },
      { kind: 'content', content: [{ type: 'text', text: 'x' }] },
    ];
    for (const outcome of outcomes) {
      const { resultType, _meta } = resultOf(outcome);
      assert.equal(resultType, 'complete');
      const serverInfo = { name: 'gangway', version: '1.2.3' };
      assert.deepEqual(_meta, { 'io.modelcontextprotocol/serverInfo': serverInfo });
    }
  });

  it('tells structured content as text, too', () => {
    const value = { a: ['é"\n'] };
    const same = resultOf(structured(value));
    assert.deepEqual(same.structuredContent, value);
    assert.deepEqual(same.content, [{ type: 'text', text: JSON.stringify(value) }]);
    assert.equal('isError' in same, false);
  });

  it('marks what failed, and nothing else, as an error', () => {
    const failed = resultOf({ kind: 'failed', sentence: 'No such app.' });
    assert.deepEqual(failed.content, [{ type: 'text', text: 'No such app.' }]);
    assert.equal(failed.isError, true);
    assert.equal('structuredContent' in failed, false);
    assert.equal(resultOf({ kind: 'content', content: [], isError: true }).isError, true);
    assert.equal('isError' in resultOf({ kind: 'text', text: 'x' }), false);
  });

  it('passes blocks of any type as they are', () => {
    const content = [
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'a:b', text: 'x' } },
    ];
    assert.deepEqual(resultOf({ kind: 'content', content }).content, content);
  });

  it('keeps blocks while there is room, and says that it cut', () => {
    const text = 'x'.repeat(15_000);
    const content = [
      { type: 'text', text, annotations: {} },
      { type: 'text', text },
    ];
    const shown = resultOf({ kind: 'content', content }).content;
    assert.equal(shown.length, 3);
    assert.deepEqual(shown[0], content[0]);
    assert.ok((shown[1]?.text.length ?? 0) > 7_000);
    assert.match(shown[2]?.text ?? '', /^Cut to fit 24 kB/);
    const image = { type: 'image', data: 'A'.repeat(30_000), mimeType: 'image/png' };
    const without = resultOf({ kind: 'content', content: [image] }).content;
    assert.deepEqual(without.length, 1);
  });

  it('cuts a long text, and says that it did in a block of its own', () => {
    const { content } = resultOf({ kind: 'text', text: 'é'.repeat(20_000) });
    assert.equal(content.length, 2);
    assert.ok((content[0]?.text.length ?? 0) > 11_000);
    assert.match(content[1]?.text ?? '', /^Cut to fit 24 kB/);
  });

  it('shortens texts and lists of structured content that is too large, and keeps its shape', () => {
    const nodes = Array.from({ length: 300 }, (_, i) => ({
      id: i,
      name: 'n'.repeat(50),
      live: i % 2 === 0,
      log: 'l'.repeat(300),
      parent: null,
    }));
    const { structuredContent, content } = resultOf(
      structured({ apps: { nodes, totalCount: 300 } }),
    );
    const { apps } = structuredContent as { apps: { nodes: typeof nodes; totalCount: number } };
    assert.equal(apps.totalCount, 300);
    assert.ok(apps.nodes.length >= 10);
    for (const [i, node] of apps.nodes.entries()) {
      assert.deepEqual(Object.keys(node), ['id', 'name', 'live', 'log', 'parent']);
      assert.equal(node.id, i);
      assert.equal(node.live, i % 2 === 0);
      assert.equal(node.parent, null);
      assert.match(node.log, /^l+…?$/);
    }
    assert.deepEqual(JSON.parse(content[0]?.text ?? ''), structuredContent);
    assert.match(content[1]?.text ?? '', /^Cut to fit 24 kB/);
  });

  it('fails with a sentence when no cut makes it small enough', () => {
    const members = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`member${i}`, i]));
    for (const outcome of [structured(members), structured({ ['k'.repeat(40_000)]: 'v' })]) {
      const { isError, content } = resultOf(outcome);
      assert.equal(isError, true);
      assert.match(content[0]?.text ?? '', /^The answer is too large/);
    }
  });

  it('ends with what is deep beyond all measure', () => {
    const deep = `${'{"a":['.repeat(200_000)}"x"${']}'.repeat(200_000)}`;
    const { structuredContent } = resultOf({ kind: 'structured', json: deep });
    assert.ok(Array.isArray((structuredContent as { a: unknown }).a));
  });
});

describe('fits', () => {
  it('agrees with what is cut, at the very byte', () => {
    for (const filler of ['a', 'é', '\\u0000', '🎉', '\\ud800']) {
      let longest = 0;
      for (let step = 8_192; step >= 1; step /= 2) {
        if (fits(jsonOf(filler, longest + step))) longest += step;
      }
      const isCut = (count: number) => resultOf(outcomeOf(filler, count)).content.length > 1;
      assert.equal(isCut(longest), false);
      assert.equal(isCut(longest + 1), true);
    }
  });
});

const jsonOf = (filler: string, count: number): string => `{"a":"${filler.repeat(count)}"}`;
const outcomeOf = (filler: string, count: number): ToolOutcome => ({
  kind: 'structured',
  json: jsonOf(filler, count),
});

describe('cutText', () => {
  const lengths = (text: string): number => Buffer.byteLength(JSON.stringify(text));

  it('keeps the start within the bytes of JSON, however small', () => {
    const texts = ['', 'a', '"'.repeat(50), 'é\n'.repeat(40), '🎉'.repeat(30), '\u0000\ud800x'];
    for (const text of texts) {
      for (let bytesMax = -3; bytesMax < 120; bytesMax++) {
        const start = cutText(text, bytesMax);
        assert.ok(text.startsWith(start));
        assert.ok(lengths(start) <= Math.max(2, bytesMax));
      }
    }
  });

  it('leaves what is short enough alone', () => {
    assert.equal(cutText('"é"', 8), '"é"');
  });

  it('never leaves half of a pair at the cut', () => {
    for (let bytesMax = 2; bytesMax < 60; bytesMax++) {
      assert.ok(cutText('🎉'.repeat(20), bytesMax).isWellFormed());
    }
  });
});
