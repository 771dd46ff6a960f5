import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseTraceparent } from '../../../src/protocol/traceparent.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const parentId = 'b7ad6b7169203331';

describe('parseTraceparent()', () => {
  it('reads version 00, whatever its flags', () => {
    for (const flags of ['00', '01', 'ff']) {
      assert.deepEqual(parseTraceparent(`00-${traceId}-${parentId}-${flags}`), {
        traceId,
        parentId,
      });
    }
  });

  it('reads of later versions what it knows', () => {
    for (const text of [
      `01-${traceId}-${parentId}-01`,
      `cc-${traceId}-${parentId}-01-`,
      `fe-${traceId}-${parentId}-01-what the future brings`,
    ]) {
      assert.deepEqual(parseTraceparent(text), { traceId, parentId }, text);
    }
  });

  it('takes nothing else for one', () => {
    const wrong = [
      '',
      '00',
      `ff-${traceId}-${parentId}-01`,
      `00-${traceId}-${parentId}-01-more`,
      `00-${traceId}-${parentId}-01-`,
      `01-${traceId}-${parentId}-01more`,
      `00-${'0'.repeat(32)}-${parentId}-01`,
      `00-${traceId}-${'0'.repeat(16)}-01`,
      `00-${traceId.toUpperCase()}-${parentId}-01`,
      `0-${traceId}-${parentId}-01`,
      `00-${traceId.slice(1)}-${parentId}-01`,
      `00-${traceId}0-${parentId}-01`,
      `00-${traceId}-${parentId}0-01`,
      `00-${traceId}-${parentId}-1`,
      `00-${traceId}-${parentId}-0g`,
      `00-${traceId}-${parentId}-01\n`,
      ` 00-${traceId}-${parentId}-01`,
      `00_${traceId}_${parentId}_01`,
      // Two headers, joined.
      `00-${traceId}-${parentId}-01, 00-${traceId}-${parentId}-01`,
    ];
    for (const text of wrong) assert.equal(parseTraceparent(text), null, JSON.stringify(text));
  });
});
