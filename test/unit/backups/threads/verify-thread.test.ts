import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { ServerPlace } from '../../../../src/backups/destinations/destination.ts';
import { makeServerFolder } from '../../../../src/backups/destinations/server-destination.ts';
import { verifyInThread } from '../../../../src/backups/threads/verify-thread.ts';
import { noise } from '../../../support/byte-streams.ts';
import { temporaryFolder } from '../../../support/store-fixture.ts';

async function fixture(t: TestContext) {
  const root = await temporaryFolder(t);
  const place: ServerPlace = { kind: 'server', root, path: ['dst_1'], isOurs: true };
  const at = { place, rules: { privateNetworks: [], ownPorts: [] } };
  await makeServerFolder(place);
  const bytes = noise(9_000_000);
  const file = join(root, 'dst_1', 'object');
  writeFileSync(file, bytes);
  const seen: number[] = [];
  return {
    ...{ bytes, file, seen },
    artifact: { sizeBytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') },
    verify: (artifact: { sizeBytes: number; sha256: string }, stop = new AbortController()) =>
      verifyInThread(artifact, at, {
        key: 'object',
        signal: stop.signal,
        progress: (done) => seen.push(done),
      }),
  };
}

describe('verifyInThread()', () => {
  it('finds the artifact that was written, and tells how far it is', async (t) => {
    const { artifact, verify, seen } = await fixture(t);
    await verify(artifact);
    assert.equal(seen.length, 2);
    assert.ok((seen[0] ?? 0) < (seen[1] ?? 0) && (seen[1] ?? 0) <= artifact.sizeBytes);
  });

  it('refuses other bytes, another length and what is gone', async (t) => {
    const { artifact, verify, bytes, file } = await fixture(t);
    await assert.rejects(verify({ ...artifact, sizeBytes: 5 }), { code: 'VERIFICATION_FAILED' });
    bytes[8_999_999]! ^= 1;
    writeFileSync(file, bytes);
    await assert.rejects(verify(artifact), { code: 'VERIFICATION_FAILED' });
    rmSync(file);
    await assert.rejects(verify(artifact), { code: 'ARTIFACT_GONE' });
  });

  it('ends with its signal', async (t) => {
    const { artifact, verify } = await fixture(t);
    const stop = new AbortController();
    const verifying = verify(artifact, stop);
    stop.abort(new Error('enough'));
    await assert.rejects(verifying, /enough/);
  });
});
