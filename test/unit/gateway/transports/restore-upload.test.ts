import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Actors } from '../../../../src/actors/runtime/actor.ts';
import { BulkPool } from '../../../../src/archives/receiving/bulk-pool.ts';
import { proveKey } from '../../../../src/backups/restores/recovery-key.ts';
import { encrypted } from '../../../../src/backups/streams/age/encrypted.ts';
import { newKeyPair } from '../../../../src/backups/streams/age/keys.ts';
import { restoreUploadRoutes } from '../../../../src/gateway/transports/restore-upload.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { ServiceError } from '../../../../src/lib/errors.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { person } from '../../../support/accounts-fixture.ts';
import { collected, pieces } from '../../../support/database-server.ts';
import { DatabaseFixture } from '../../../support/database-fixture.ts';
import { eventually } from '../../../support/eventually.ts';
import { smallDisk } from '../../../support/small-disk.ts';
import { startGateway, type TestGateway } from '../../../support/gateway.ts';

const artifactBytes = 4 * 1024 * 1024;
const rightKey = 'AGE-SECRET-KEY-1RIGHT';
const big = gzipSync(Buffer.concat([Buffer.from('PGDMP'), randomBytes(1024 * 1024)]));
const small = gzipSync(`PGDMP${'row '.repeat(1000)}`);
const ageFile = Buffer.from(`age-encryption.org/v1\n${'x'.repeat(1000)}`);

interface Answer {
  status: number;
  code: string;
  text: string;
}

describe('POST /api/backups/restore-upload', () => {
  let place: DatabaseFixture;
  let gateway: TestGateway;
  let bulk: BulkPool;
  let id: string;
  let refusal: ServiceError | null;
  /** By which the clock of the transport was set back. */
  let setBackMs: number;
  let prove: typeof proveKey;
  beforeEach(async () => {
    refusal = null;
    prove = (_head, key) => {
      if (key !== rightKey) throw new ServiceError('RECOVERY_KEY_WRONG', 'It does not fit.');
    };
    place = await new DatabaseFixture().open();
    id = await place.create();
    await place.until(id, 'running');
    const { store: reader, logger } = place;
    const temporaryDir = join(place.root, 'tmp');
    bulk = new BulkPool({ temporaryDir, logger, clock: systemClock, lanes: 1 });
    const actors: Pick<Actors, 'ask'> = {
      ask: (ref, message) => place.ask(ref.id, message as never),
    };
    setBackMs = 0;
    const clock = { ...systemClock, now: () => Date.now() - setBackMs };
    const routes = restoreUploadRoutes({
      ...{ actors: actors as Actors, reader, logger, clock, artifactBytes },
      bulk: { receive: (given) => bulk.receive(given) },
      authenticate: () => person('usr_1'),
      authorize: () => {
        if (refusal !== null) throw refusal;
      },
      can: () => true,
      proveKey: (head, key) => prove(head, key),
    });
    gateway = await startGateway(routes);
  });
  afterEach(async () => {
    await gateway.close();
    await bulk.close();
    await place.close();
  });

  const open = (query: string, headers: Record<string, string> = {}): ClientRequest => {
    const path = `/api/backups/restore-upload${query}`;
    const { port } = gateway;
    return request({ host: '127.0.0.1', port, path, method: 'POST', agent: false, headers });
  };
  const textOf = async (response: IncomingMessage): Promise<string> => {
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString();
  };
  const answerOf = (sent: ClientRequest): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      sent.on('error', reject);
      sent.on('response', resolve);
    });
  const send = async (
    body: Uint8Array,
    headers: Record<string, string> = {},
    query = `?database=${id}`,
  ): Promise<Answer> => {
    const sent = open(query, { 'Content-Length': String(body.length), ...headers });
    const answer = answerOf(sent);
    sent.end(body);
    const response = await answer;
    const text = await textOf(response);
    const { statusCode: status = 0 } = response;
    const code = status === 200 ? '' : (JSON.parse(text) as { code: string }).code;
    return { status, code, text };
  };
  const refused = async (expected: [number, string], sending: Promise<Answer>): Promise<void> => {
    const { status, code } = await sending;
    assert.deepEqual([status, code], expected);
    assert.equal(place.store.count(tables.restoreRuns, 'target', [id]), 0);
  };
  const files = (): string[] =>
    [place.restores.root, join(place.root, 'tmp')].flatMap((dir) =>
      existsSync(dir) ? readdirSync(dir) : [],
    );

  it('streams the log of the restore, and ends with its verdict', async () => {
    for (const artifact of [big, small]) {
      const { status, text } = await send(artifact);
      assert.equal(status, 200);
      const lines = text.trimEnd().split('\n');
      assert.match(lines[0] ?? '', /^Restore rst_\w+: receiving the artifact\.$/);
      assert.equal(lines.at(-1), 'restore: ok');
      assert.ok(lines.includes('The restored data is in place.'), text);
      assert.deepEqual(files(), []);
    }
    assert.equal(place.restores.restored.length, 2);
  });

  it('takes exactly one target: 400', async () => {
    for (const query of [
      '',
      '?app=',
      `?app=app_1&database=${id}`,
      `?database=${id}&database=${id}`,
    ]) {
      await refused([400, 'BAD_REQUEST'], send(small, {}, query));
    }
  });

  it('knows no other target: 404, and asks for the right: 403', async () => {
    await refused([404, 'NOT_FOUND'], send(small, {}, '?database=db_none'));
    await refused([404, 'NOT_FOUND'], send(small, {}, `?app=${id}`));
    refusal = new ServiceError('FORBIDDEN', 'restore_backups');
    await refused([403, 'FORBIDDEN'], send(small));
  });

  it('refuses what is neither gzip nor age: 415', async () => {
    for (const body of [Buffer.from('hello'), Buffer.alloc(0), Buffer.alloc(300_000)]) {
      await refused([415, 'UNSUPPORTED_MEDIA_TYPE'], send(body));
    }
  });

  it('asks for the key of an encrypted artifact: 428, 422', async () => {
    await refused([428, 'RECOVERY_KEY_REQUIRED'], send(ageFile));
    await refused([422, 'RECOVERY_KEY_WRONG'], send(ageFile, { 'X-Recovery-Key': 'AGE-OTHER' }));
    await send(ageFile, { 'X-Recovery-Key': rightKey });
    assert.deepEqual(place.restores.recoveryKeys, [rightKey]);
    assert.ok(!JSON.stringify([place.logger.records, gateway.records]).includes(rightKey));
  });

  it('refuses a declared length above maxRestoreMb before a byte is read', async () => {
    const sent = open(`?database=${id}`, { 'Content-Length': String(artifactBytes + 1) });
    const answer = answerOf(sent);
    sent.flushHeaders();
    assert.equal((await answer).statusCode, 413);
    sent.destroy();
  });

  it('tells of a length that is crossed later in the last line', async () => {
    const sent = open(`?database=${id}`, { 'Transfer-Encoding': 'chunked' });
    const answer = answerOf(sent);
    sent.write(big);
    sent.write(randomBytes(artifactBytes));
    const response = await answer;
    assert.equal(response.statusCode, 200);
    const text = await textOf(response).catch(String);
    assert.match(text, /\nrestore: failed: .*\(PAYLOAD_TOO_LARGE\)\n$/);
    sent.destroy();
    assert.deepEqual(files(), []);
    assert.deepEqual(place.restores.restored, []);
  });

  it('tells how much has come, also behind a clock that was set back', async () => {
    const sent = open(`?database=${id}`, { 'Content-Length': String(big.length) });
    const answer = answerOf(sent);
    sent.write(big.subarray(0, 200_000));
    const response = await answer;
    setBackMs = 3_600_000;
    sent.end(big.subarray(200_000));
    assert.match(await textOf(response), /\nReceived [0-9.]+ MiB\.\n/);
  });

  it('refuses a second restore while the first one arrives: 409', async () => {
    const first = open(`?database=${id}`, { 'Content-Length': String(big.length) });
    const answer = answerOf(first);
    first.write(big.subarray(0, 200_000));
    const response = await answer;
    const second = await send(small);
    assert.deepEqual([second.status, second.code], [409, 'RESTORE_RUNNING']);
    first.end(big.subarray(200_000));
    assert.match(await textOf(response), /\nrestore: ok\n$/);
  });

  it('forgets an artifact whose client leaves, and touches nothing', async () => {
    const sent = open(`?database=${id}`, { 'Content-Length': String(big.length) });
    const answer = answerOf(sent);
    sent.write(big.subarray(0, 200_000));
    await answer;
    sent.destroy();
    const runs = () => place.store.list(tables.restoreRuns, 'target', [id]);
    await eventually('its end', () => runs()[0]?.status === 'failed');
    assert.equal(runs()[0]?.error, 'The upload was broken off.');
    assert.deepEqual([files(), place.restores.restored], [[], []]);
    assert.match((await send(small)).text, /\nrestore: ok\n$/);
  });

  it('goes on when its client leaves after it has begun', async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    place.restores.onRestore = () => promise;
    const sent = open(`?database=${id}`, { 'Content-Length': String(small.length) });
    const answer = answerOf(sent);
    sent.end(small);
    await answer;
    const run = () => place.store.list(tables.restoreRuns, 'target', [id])[0];
    await eventually('the restorer', () => run()?.phase === 'replacing');
    sent.destroy();
    resolve(undefined);
    await eventually('its end', () => run()?.status === 'success');
    assert.equal(place.restores.restored.length, 1);
  });

  it('says in the last line why a checked artifact was refused, or a restore failed', async () => {
    const cut = await send(small.subarray(0, -8));
    assert.match(cut.text, /\nNothing was changed\.\nrestore: failed: .*\(ARCHIVE_CORRUPT\)\n$/);
    place.restores.onRestore = () => {
      throw new ServiceError('ENGINE_NOT_AVAILABLE', 'There is no pg_restore.');
    };
    const failed = await send(small);
    assert.match(
      failed.text,
      /\nrestore: failed: There is no pg_restore\. \(ENGINE_NOT_AVAILABLE\)\n$/,
    );
  });

  it('unpacks no more of a bomb than there is room for', async () => {
    place.restores.room = () => 2 ** 20;
    // Of some 4 GiB of zeros, in members.
    const zeros = gzipSync(Buffer.alloc(64 * 2 ** 20));
    const bomb = Buffer.concat([small, ...Array.from({ length: 60 }, () => zeros)]);
    const { status, text } = await send(bomb);
    assert.equal(status, 200);
    const [, , ...last] = text.trimEnd().split('\n').slice(-4);
    assert.equal(last[0], 'Nothing was changed.');
    assert.match(
      last[1] ?? '',
      /^restore: failed: .*larger than the room.*1 MiB.*\(STORAGE_FULL\)$/,
    );
    assert.deepEqual([files(), place.restores.restored], [[], []]);
    place.restores.room = () => Infinity;
    assert.match((await send(small)).text, /\nrestore: ok\n$/);
  });

  it('refuses an artifact for which the disk has no room: 507', async (t) => {
    const disk = smallDisk(t, 1);
    if (disk === undefined) return;
    await bulk.close();
    bulk = new BulkPool({ temporaryDir: disk, logger: place.logger, clock: systemClock, lanes: 1 });
    const { status, code } = await send(big);
    assert.deepEqual([status, code], [507, 'STORAGE_FULL']);
    const [run] = place.store.list(tables.restoreRuns, 'target', [id]);
    assert.match(run?.error ?? '', /\(STORAGE_FULL\)$/);
    assert.deepEqual([readdirSync(disk), place.restores.restored], [[], []]);
  });

  it('asks for the key of the artifact itself, not for any', async () => {
    prove = proveKey;
    const [own, other] = [newKeyPair(), newKeyPair()];
    const sealed = await collected(encrypted(pieces(small), [own.recipient]));
    for (const key of [other.recoveryKey, own.recipient, 'AGE-SECRET-KEY-1', '../key']) {
      await refused([422, 'RECOVERY_KEY_WRONG'], send(sealed, { 'X-Recovery-Key': key }));
    }
    await send(sealed, { 'X-Recovery-Key': own.recoveryKey });
    assert.deepEqual(place.restores.recoveryKeys, [own.recoveryKey]);
  });

  it('begins nothing for a caller who lost the right while the artifact arrived', async () => {
    const sent = open(`?database=${id}`, { 'Content-Length': String(big.length) });
    const answer = answerOf(sent);
    sent.write(big.subarray(0, 200_000));
    const response = await answer;
    refusal = new ServiceError('FORBIDDEN', 'It takes restore_backups.');
    sent.end(big.subarray(200_000));
    assert.match(await textOf(response), /\nrestore: failed: .*\(FORBIDDEN\)\n$/);
    assert.deepEqual([files(), place.restores.restored], [[], []]);
  });
});
