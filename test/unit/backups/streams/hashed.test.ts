import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { hashed } from '../../../../src/backups/streams/hashed.ts';
import { inPieces, joined, rows } from '../../../support/byte-streams.ts';

describe('hashed()', () => {
  it('passes all chunks on, and tells their length and SHA-256', async () => {
    const bytes = rows(100_000);
    const stream = hashed(inPieces(bytes, 4_096));
    assert.ok((await joined(stream)).equals(bytes));
    assert.equal(stream.bytes, bytes.length);
    assert.equal(stream.sha256, createHash('sha256').update(bytes).digest('hex'));
  });

  it('tells how much has passed, but no SHA-256 of a part', async () => {
    const stream = hashed(inPieces(rows(100), 10));
    await stream[Symbol.asyncIterator]().next();
    assert.equal(stream.bytes, 10);
    assert.throws(() => stream.sha256, /has not ended/);
  });
});
