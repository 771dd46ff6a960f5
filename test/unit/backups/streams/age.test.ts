import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { decrypted } from '../../../../src/backups/streams/age/decrypted.ts';
import { encrypted } from '../../../../src/backups/streams/age/encrypted.ts';
import { newKeyPair, recipientOf } from '../../../../src/backups/streams/age/keys.ts';
import { inPieces, joined, noise, rows } from '../../../support/byte-streams.ts';
import { openedBothWays } from '../../../support/opened-age.ts';
import { needs, programPath } from '../../../support/programs.ts';

const chunk = 65_536;
const keys = newKeyPair();
const others = newKeyPair();
const corrupt = { name: 'ServiceError', code: 'ARTIFACT_CORRUPT' };
const wrongKey = { name: 'ServiceError', code: 'RECOVERY_KEY_WRONG' };

const seal = (bytes: Uint8Array, recipients = [keys.recipient]): Promise<Buffer> =>
  joined(encrypted(inPieces(bytes, 30_000), recipients));
const open = (sealed: Uint8Array, recoveryKey = keys.recoveryKey, cut = 30_000): Promise<Buffer> =>
  openedBothWays(sealed, recoveryKey, cut);

/** Where the payload begins, behind the header and the nonce. */
const payloadOf = (sealed: Buffer): number =>
  sealed.indexOf('\n', sealed.indexOf('\n--- ') + 1) + 17;

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at]! ^= 1;
  return copy;
}

describe('encrypted() and decrypted()', () => {
  for (const size of [0, 1, chunk - 1, chunk, chunk + 1, 3 * chunk, 3 * chunk + 5]) {
    it(`give back ${size} bytes, however they are cut`, async () => {
      const bytes = noise(size);
      const sealed = await seal(bytes);
      for (const cut of [997, chunk, sealed.length]) {
        assert.ok((await open(sealed, keys.recoveryKey, cut)).equals(bytes), `cut at ${cut}`);
      }
    });
  }

  it('read a header that comes byte by byte', async () => {
    assert.equal((await open(await seal(rows(100)), keys.recoveryKey, 1)).length, 100);
  });

  it('serve each of several recipients', async () => {
    const sealed = await seal(rows(1_000), [others.recipient, keys.recipient]);
    for (const { recoveryKey } of [keys, others]) {
      assert.ok((await open(sealed, recoveryKey)).equals(rows(1_000)));
    }
  });

  it('encrypt for nobody who is no recipient', async () => {
    for (const recipient of [
      '',
      'age1',
      keys.recoveryKey,
      keys.recipient.toUpperCase(),
      `${keys.recipient}q`,
    ]) {
      await assert.rejects(seal(rows(1), [recipient]), { code: 'BAD_USER_INPUT' });
    }
    await assert.rejects(seal(rows(1), []), /no recipient/);
  });
});

describe('a recovery key', () => {
  it('tells its recipient', () => {
    assert.match(keys.recoveryKey, /^AGE-SECRET-KEY-1[0-9A-Z]{58}$/);
    assert.match(keys.recipient, /^age1[0-9a-z]{58}$/);
    assert.equal(recipientOf(keys.recoveryKey), keys.recipient);
    assert.notEqual(keys.recoveryKey, others.recoveryKey);
  });

  it('is refused where it is of another, before a byte is given', async () => {
    const stream = decrypted(inPieces(await seal(rows(chunk)), 1_000), others.recoveryKey);
    await assert.rejects(stream.next(), wrongKey);
  });

  it('is refused where it is none', async () => {
    const sealed = await seal(rows(1));
    const { recoveryKey: key } = keys;
    const last = key.endsWith('Q') ? 'P' : 'Q';
    for (const text of [
      '',
      'secret',
      key.toLowerCase(),
      key.slice(0, -1),
      `${key.slice(0, -1)}${last}`,
      ` ${key}`,
    ]) {
      await assert.rejects(open(sealed, text), wrongKey, text);
    }
  });
});

describe('decrypted()', () => {
  const bytes = noise(2 * chunk + 100);

  it('refuses each flipped bit of the header', async () => {
    const sealed = await seal(rows(10));
    const end = payloadOf(sealed) - 16;
    for (let at = 0; at < end; at++) {
      await assert.rejects(
        open(flipped(sealed, at)),
        { name: 'ServiceError', code: /^(ARTIFACT_CORRUPT|RECOVERY_KEY_WRONG)$/ },
        `at ${at}`,
      );
    }
  });

  it('refuses flipped bits of the nonce, of each chunk and of its tag', async () => {
    const sealed = await seal(bytes);
    const start = payloadOf(sealed);
    const sealedChunk = chunk + 16;
    const places = [
      -16,
      -1,
      0,
      chunk - 1,
      chunk,
      sealedChunk - 1,
      sealedChunk,
      2 * sealedChunk,
      2 * sealedChunk + 110,
    ];
    for (const place of places) {
      await assert.rejects(open(flipped(sealed, start + place)), corrupt, `at ${place}`);
    }
  });

  it('refuses what is cut off, at the border of a chunk too', async () => {
    const sealed = await seal(bytes);
    const start = payloadOf(sealed);
    const border = start + chunk + 16;
    for (const end of [
      0,
      10,
      start - 16,
      start - 1,
      start,
      start + 15,
      start + 1_000,
      border,
      border + 1,
      border + 16,
      sealed.length - 1,
    ]) {
      await assert.rejects(open(sealed.subarray(0, end)), corrupt, `cut off at ${end}`);
    }
    const exact = await seal(noise(2 * chunk));
    await assert.rejects(open(exact.subarray(0, -(chunk + 16))), corrupt);
  });

  it('refuses what is added, and chunks that are moved', async () => {
    for (const size of [0, 10, chunk, chunk + 1]) {
      const sealed = await seal(noise(size));
      for (const added of [Buffer.alloc(1), Buffer.alloc(16), sealed]) {
        await assert.rejects(
          open(Buffer.concat([sealed, added])),
          corrupt,
          `${size} and ${added.length}`,
        );
      }
    }
    const sealed = await seal(noise(3 * chunk));
    const at = (index: number): number => payloadOf(sealed) + index * (chunk + 16);
    const [head, one, two, rest] = [
      sealed.subarray(0, at(0)),
      sealed.subarray(at(0), at(1)),
      sealed.subarray(at(1), at(2)),
      sealed.subarray(at(2)),
    ];
    await assert.rejects(open(Buffer.concat([head, two, one, rest])), corrupt);
    await assert.rejects(open(Buffer.concat([head, one, one, two, rest])), corrupt);
    await assert.rejects(open(Buffer.concat([head, one, rest])), corrupt);
  });

  it('gives no byte of a chunk that is damaged', async () => {
    const sealed = await seal(bytes);
    const stream = decrypted(
      inPieces(flipped(sealed, payloadOf(sealed) + chunk + 16), 1_000),
      keys.recoveryKey,
    );
    const first = await stream.next();
    assert.ok(first.done === false && Buffer.from(first.value).equals(bytes.subarray(0, chunk)));
    await assert.rejects(stream.next(), corrupt);
  });

  it('refuses what is no age file, and a header without an end', async () => {
    await assert.rejects(open(rows(100_000)), corrupt);
    const endless = Buffer.concat([
      Buffer.from('age-encryption.org/v1\n'),
      Buffer.alloc(100_000, '-> x\n'),
    ]);
    await assert.rejects(open(endless), corrupt);
  });

  it('lets go of its source', async () => {
    const isOver = async (take: (stream: AsyncGenerator<Uint8Array>) => Promise<unknown>) => {
      let over = false;
      const sealed = await seal(bytes);
      async function* source(): AsyncGenerator<Uint8Array> {
        try {
          yield* inPieces(sealed, 1_000);
        } finally {
          over = true;
        }
      }
      await take(decrypted(source(), keys.recoveryKey));
      return over;
    };
    assert.ok(await isOver(joined), 'at its end');
    assert.ok(
      await isOver(async (stream) => [await stream.next(), await stream.return(undefined)]),
      'amidst it',
    );
  });
});

describe('the program age', { skip: needs('age', 'age-keygen') }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'gangway-age-'));
  after(() => rmSync(dir, { recursive: true }));
  const keyFile = join(dir, 'key');
  writeFileSync(keyFile, keys.recoveryKey);

  const age = (args: string[], input: Buffer): Buffer => {
    const { stdout, stderr, status } = spawnSync(programPath('age') ?? '', args, {
      input,
      maxBuffer: 2 ** 26,
    });
    assert.equal(status, 0, stderr.toString());
    return stdout;
  };

  for (const size of [0, 1, chunk - 1, chunk, chunk + 1, 3 * chunk, 5_000_000]) {
    it(`reads ${size} bytes of ours, and we read its`, async () => {
      const bytes = noise(size);
      assert.ok(age(['-d', '-i', keyFile], await seal(bytes)).equals(bytes));
      assert.ok((await open(age(['-r', keys.recipient], bytes))).equals(bytes));
    });
  }

  it('reads what is for two, and says the same recipient of a key', async () => {
    const sealed = await seal(rows(10), [others.recipient, keys.recipient]);
    assert.ok(age(['-d', '-i', keyFile], sealed).equals(rows(10)));
    const { stdout } = spawnSync(programPath('age-keygen') ?? '', ['-y', keyFile], {
      encoding: 'utf8',
    });
    assert.equal(stdout.trim(), keys.recipient);
  });

  it('makes keys that are taken here', async () => {
    const { stdout } = spawnSync(programPath('age-keygen') ?? '', { encoding: 'utf8' });
    const recoveryKey = /AGE-SECRET-KEY-\S+/.exec(stdout)?.[0] ?? '';
    const recipient = /age1\S+/.exec(stdout)?.[0] ?? '';
    assert.equal(recipientOf(recoveryKey), recipient);
    assert.ok((await open(await seal(rows(10), [recipient]), recoveryKey)).equals(rows(10)));
  });

  it('has files for a passphrase, which no recovery key opens', async () => {
    const stanza =
      '-> scrypt bBjlhJVYZeE4aqUdmtRHfw 15\nZV/AhotwSGqaPCU43cepl4WYUouAa17a3xpu4G2yi5k\n';
    const header = `age-encryption.org/v1\n${stanza}--- ${'A'.repeat(43)}\n`;
    await assert.rejects(open(Buffer.concat([Buffer.from(header), noise(100)])), wrongKey);
  });
});
