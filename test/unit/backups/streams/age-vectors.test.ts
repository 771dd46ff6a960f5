import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { inflateSync } from 'node:zlib';
import * as vectors from 'cctv-age';
import { openedBothWays } from '../../../support/opened-age.ts';

const codes: Record<string, readonly string[]> = {
  'no match': ['RECOVERY_KEY_WRONG'],
  'HMAC failure': ['ARTIFACT_CORRUPT'],
  // A passphrase beside a key is refused as what no key opens.
  'header failure': ['ARTIFACT_CORRUPT', 'RECOVERY_KEY_WRONG'],
  'payload failure': ['ARTIFACT_CORRUPT'],
};

interface Vector {
  expect: string;
  identity: string;
  /** SHA-256, hex. */
  payload: string;
  file: Buffer;
}

/** Null for what is encrypted otherwise than for X25519, or armored. */
function read(text: Uint8Array): Vector | null {
  const bytes = Buffer.from(text);
  const end = bytes.indexOf('\n\n');
  const lines = bytes.subarray(0, end).toString().split('\n');
  const fields = new Map(lines.map((line) => line.split(': ') as [string, string]));
  const field = (name: string): string => fields.get(name) ?? '';
  if (fields.has('armored') || !field('identity').startsWith('AGE-SECRET-KEY-1')) return null;
  const file = bytes.subarray(end + 2);
  return {
    expect: field('expect'),
    identity: field('identity'),
    payload: field('payload'),
    file: fields.has('compressed') ? inflateSync(file) : file,
  };
}

describe('the test vectors of age', () => {
  for (const [name, text] of Object.entries(vectors)) {
    const vector = read(text);
    if (vector === null) continue;
    const { expect, identity, payload, file } = vector;
    it(`${name}: ${expect}`, async () => {
      const opening = openedBothWays(file, identity, 10_000);
      if (expect === 'success') {
        assert.equal(
          createHash('sha256')
            .update(await opening)
            .digest('hex'),
          payload,
        );
        return;
      }
      await assert.rejects(opening, ({ code }: { code?: string }) => {
        return codes[expect]?.includes(code ?? '') ?? false;
      });
    });
  }
});
