import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LineNotes } from '../../../src/gateway/transport.ts';
import { noteFields, noteMembers, type Noted } from '../../../src/gateway/line-notes.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const parentId = 'b7ad6b7169203331';
const traceparent = `00-${traceId}-${parentId}-01`;

/** What both forms say. */
function of(header: string, notes?: LineNotes): Record<string, unknown> {
  const noted: Noted = { header: (name) => (name === 'traceparent' ? header : ''), notes };
  const fields = noteFields(noted);
  const line = JSON.parse(`{${noteMembers(noted)}"end":0}`) as Record<string, unknown>;
  assert.deepEqual(line, { ...fields, end: 0 });
  assert.deepEqual(Object.keys(line), [...Object.keys(fields), 'end']);
  return fields;
}

describe('noteFields() and noteMembers()', () => {
  it('is nothing for a request that has nothing', () => {
    assert.deepEqual(of(''), {});
  });

  it('says which trace a request belongs to', () => {
    assert.deepEqual(of(traceparent), { traceId, parentId });
  });

  it('does not mention what names no trace', () => {
    const wrongs = ['x', `${traceparent}, ${traceparent}`, '"}\n{"level":60', 'y'.repeat(9_000)];
    for (const wrong of wrongs) {
      assert.deepEqual(of(wrong), {}, wrong);
      assert.deepEqual(of('', { traceparent: wrong, rpc: 'ping' }), { rpc: 'ping' });
    }
  });

  it('takes the header before the body, and the body where the header names none', () => {
    const inBody = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-00`;
    const ofBody = { traceId: '1'.repeat(32), parentId: '2'.repeat(16) };
    assert.deepEqual(of('', { traceparent: inBody }), ofBody);
    assert.deepEqual(of('x', { traceparent: inBody }), ofBody);
    assert.deepEqual(of(traceparent, { traceparent: inBody }), { traceId, parentId });
  });

  it('says what was noted', () => {
    const noted = { rpc: 'tools/call', tool: 'list_apps', client: 'claude-code' };
    assert.deepEqual(of('', noted), noted);
    assert.deepEqual(of('', { rpc: 'ping', tool: null, client: null }), { rpc: 'ping' });
  });

  it('makes values short and fit to be shown', () => {
    const client = 'Evil\u001b[2J\r\n\u202eagent\u0000\ud83d';
    assert.equal(of('', { client })['client'], 'Evil[2Jagent');
    assert.equal(of('', { client: '\u202e\u200b' })['client'], undefined);
    assert.equal(of('', { client: 'é'.repeat(999) })['client'], 'é'.repeat(200));
  });
});
