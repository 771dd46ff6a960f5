import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ToolOutcome } from '../../../src/mcp/tool.ts';
import { outcomeJson, ResultBytes, resultTail } from '../../../src/mcp/results.ts';
import { ReadyResult } from '../../../src/protocol/json-rpc.ts';

const tail = resultTail({ name: 'gangway', version: '1.2.3' });

const list = (name: string, count = 100): ToolOutcome => ({
  kind: 'structured',
  json: JSON.stringify({ apps: Array.from({ length: count }, (_, i) => `${name} ${i}`) }),
});

function sent(bytes: Uint8Array, id: number): string {
  return Buffer.from(new ReadyResult(bytes).response(id)).toString();
}

const wanted = (outcome: ToolOutcome, id: number): string =>
  `{"jsonrpc":"2.0","id":${id},"result":${outcomeJson(outcome, tail)}}`;

describe('ResultBytes', () => {
  it('gives the bytes of the very same answer again, under another id', () => {
    const results = new ResultBytes(tail);
    const first = results.of(list('é'));
    assert.equal(sent(first, 1), wanted(list('é'), 1));
    const again = results.of(list('é'));
    assert.equal(again, first);
    assert.equal(sent(again, 22), wanted(list('é'), 22));
  });

  it('tells answers of one length apart', () => {
    const results = new ResultBytes(tail);
    for (const outcome of [list('one'), list('two')]) {
      assert.equal(sent(results.of(outcome), 1), wanted(outcome, 1));
    }
    assert.equal(sent(results.of(list('one')), 1), wanted(list('one'), 1));
  });

  it('answers rightly however many different answers come in between', () => {
    const results = new ResultBytes(tail);
    for (let i = 0; i < 40; i++) {
      const outcome = list(`app ${i % 20}`);
      assert.equal(sent(results.of(outcome), i), wanted(outcome, i));
    }
  });

  it('cuts what is too large as it is cut without it', () => {
    const results = new ResultBytes(tail);
    for (let i = 0; i < 2; i++) {
      assert.equal(
        sent(results.of(list('x'.repeat(100), 400)), i),
        wanted(list('x'.repeat(100), 400), i),
      );
    }
  });

  it('takes every other kind of outcome', () => {
    const results = new ResultBytes(tail);
    const outcomes: ToolOutcome[] = [
      { kind: 'text', text: 'x'.repeat(2_000) },
      { kind: 'failed', sentence: 'No such app.' },
      { kind: 'content', content: [{ type: 'text', text: 'x' }] },
    ];
    for (const outcome of outcomes) assert.equal(sent(results.of(outcome), 7), wanted(outcome, 7));
  });
});
