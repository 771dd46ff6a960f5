import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Transfers } from '../../src/gateway/transports/transfers.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import { OwnTally } from '../../src/lib/tally.ts';
import { tar, zip } from '../support/archives.ts';
import { eventually } from '../support/eventually.ts';
import { RawClient } from '../support/raw-http.ts';
import { startUploads, upload, type UploadFixture } from '../support/upload-fixture.ts';

const good = tar({ name: 'index.html', data: 'hello' });
const large = tar({ name: 'large', data: randomBytes(3_000_000) });

let fixture: UploadFixture;
afterEach(() => fixture.close());

function head(fields: string[]): string {
  const lines = ['POST /api/apps/app_1/upload HTTP/1.1', 'Host: x', ...fields];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

const begun = (): Promise<void> =>
  eventually('bytes are arriving', () => fixture.files().some((name) => name.startsWith('tmp/')));
const over = (): Promise<void> =>
  eventually('the reservation is over', () => fixture.diary.includes('upload-abort'));

describe('an upload', () => {
  it('is stored, then committed, then answered', async () => {
    fixture = await startUploads();
    for (const [body, name, format] of [
      [good, 'a.tar', 'tar'],
      [gzipSync(large), 'a.TAR.GZ', 'tar.gz'],
      [gzipSync(good), 'a.tgz', 'tar.gz'],
      [zip([{ name: 'x', data: 'y' }]), 'dir/a.zip', 'zip'],
    ] as const) {
      const answer = await upload(fixture.gateway.port, body, name);
      const filename = name.replace('dir/', '');
      const uploadedAt = '2025-11-13T02:13:20.123Z';
      assert.deepEqual(answer, {
        status: 200,
        body: { ok: true, upload: { filename, size: body.length, uploadedAt } },
      });
      const stored = fixture.current();
      assert.equal(stored?.sha256, createHash('sha256').update(body).digest('hex'));
      assert.equal(stored.format, format);
      const file = join(fixture.root, 'app_1', stored.blob);
      assert.ok(readFileSync(file).equals(body));
    }
    assert.deepEqual([...new Set(fixture.diary)], ['upload-begin', 'upload-commit']);
  });

  it('is refused with its code, and leaves what was there', async () => {
    fixture = await startUploads({ archiveBytes: 100_000 });
    const { port } = fixture.gateway;
    await upload(port, good);
    const before = fixture.files();
    const encrypted = zip([{ name: 'x', data: 'y', flags: 1 }]);
    const zeros = gzipSync(tar({ name: 'zeros', data: Buffer.alloc(70 * 2 ** 20) }));
    for (const [body, name, status, code] of [
      [good, null, 400, 'FILENAME_REQUIRED'],
      [good, ' ', 400, 'FILENAME_REQUIRED'],
      [good, 'a.rar', 415, 'UNSUPPORTED_ARCHIVE'],
      [large, 'a.tar', 413, 'PAYLOAD_TOO_LARGE'],
      [Buffer.alloc(0), 'a.zip', 400, 'ARCHIVE_EMPTY'],
      [zip([]), 'a.zip', 400, 'ARCHIVE_EMPTY'],
      [good, 'a.zip', 422, 'ARCHIVE_TYPE_MISMATCH'],
      [good.subarray(0, 514), 'a.tar', 422, 'ARCHIVE_CORRUPT'],
      [tar({ name: '/etc/x' }), 'a.tar', 422, 'ARCHIVE_UNSAFE_ENTRY'],
      [encrypted, 'a.zip', 422, 'ARCHIVE_ENCRYPTED'],
      [zeros, 'a.tgz', 422, 'ARCHIVE_BOMB'],
    ] as const) {
      const answer = await upload(port, body, name);
      assert.deepEqual([answer.status, answer.body.code], [status, code]);
    }
    assert.deepEqual(fixture.files(), before);
    const twice = { headers: { 'X-Upload-Filename': ['a.tar', 'b.tar'] } };
    assert.equal((await upload(port, good, null, twice)).body.code, 'FILENAME_REQUIRED');
    const path = '/api/apps/app_none/upload';
    assert.equal((await upload(port, good, 'a.tar', { path })).body.code, 'NOT_FOUND');
  });

  it('without a length is refused at the byte that crosses the limit', async () => {
    fixture = await startUploads({ archiveBytes: 100_000 });
    const client = new RawClient(fixture.gateway.port);
    client.write(head(['X-Upload-Filename: a.tar', 'Transfer-Encoding: chunked']));
    const piece = large.subarray(0, 60_000);
    for (let i = 0; i < 2; i++) {
      client.write(`${piece.length.toString(16)}\r\n`);
      client.write(piece);
      client.write('\r\n');
    }
    assert.equal((await client.answer()).status, 413);
    await over();
    assert.deepEqual(fixture.files(), []);
    client.destroy();
  });

  it('asks who is calling and what they may before anything else', async () => {
    const refusals = {
      authenticate: new ServiceError('COOKIE_REQUIRED', 'The cookie, please.'),
      authorize: new ServiceError('FORBIDDEN', 'deploy_apps'),
    };
    for (const [part, refusal] of Object.entries(refusals)) {
      fixture = await startUploads({
        [part]: () => {
          throw refusal;
        },
      });
      const answer = await upload(fixture.gateway.port, good, null);
      assert.equal(answer.body.code, refusal.code);
      assert.deepEqual(fixture.diary, []);
      await fixture.close();
    }
    fixture = await startUploads();
  });

  it('is refused while another one runs, and the other goes on', async () => {
    fixture = await startUploads();
    const client = new RawClient(fixture.gateway.port);
    client.write(head(['X-Upload-Filename: a.tar', `Content-Length: ${good.length}`]));
    client.write(good.subarray(0, 600));
    await begun();
    const second = await upload(fixture.gateway.port, good);
    assert.deepEqual([second.status, second.body.code], [409, 'UPLOAD_IN_PROGRESS']);
    client.write(good.subarray(600));
    assert.equal((await client.answer()).status, 200);
    client.destroy();
  });

  it('whose client leaves is aborted at every stage, and leaves nothing', async () => {
    fixture = await startUploads();
    for (const length of [0, 1, 513, 1_000_000, large.length - 1]) {
      fixture.diary.length = 0;
      const client = new RawClient(fixture.gateway.port);
      client.write(head(['X-Upload-Filename: a.tar', `Content-Length: ${large.length}`]));
      client.write(large.subarray(0, length));
      await begun();
      client.destroy();
      await over();
      assert.deepEqual(fixture.files(), []);
    }
    assert.equal((await upload(fixture.gateway.port, good)).status, 200);
  });

  it('that stops sending is REQUEST_TIMEOUT, and leaves nothing', async () => {
    fixture = await startUploads({ gateway: { idleMs: 200 } });
    const client = new RawClient(fixture.gateway.port);
    client.write(head(['X-Upload-Filename: a.tar', `Content-Length: ${good.length}`]));
    client.write(good.subarray(0, 700));
    const answer = await client.answer();
    assert.equal(answer.status, 408);
    assert.match(answer.body, /REQUEST_TIMEOUT/);
    assert.deepEqual(fixture.files(), []);
    client.destroy();
  });

  it('gets SHUTTING_DOWN when the service drains, and leaves nothing', async () => {
    const never = { drainMs: 3_600_000, lingerMs: 3_600_000 };
    fixture = await startUploads({ gateway: never });
    const client = new RawClient(fixture.gateway.port);
    client.write(head(['X-Upload-Filename: a.tar', `Content-Length: ${good.length}`]));
    client.write(good.subarray(0, 700));
    await begun();
    const drained = fixture.gateway.gateway.drain();
    const answer = await client.answer();
    assert.equal(answer.status, 503);
    assert.match(answer.body, /SHUTTING_DOWN/);
    // It neither sends more nor leaves: the drain does not wait for it.
    await drained;
    assert.equal(await client.closed(), 'fin');
    client.destroy();
    assert.deepEqual(fixture.files(), []);
  });

  it('whose sender loses the right on the way is refused, and leaves nothing', async () => {
    let allowed = true;
    fixture = await startUploads({
      authorize: () => {
        if (!allowed) throw new ServiceError('FORBIDDEN', 'deploy_apps');
      },
    });
    const client = new RawClient(fixture.gateway.port);
    client.write(head(['X-Upload-Filename: a.tar', `Content-Length: ${good.length}`]));
    client.write(good.subarray(0, 700));
    await begun();
    allowed = false;
    client.write(good.subarray(700));
    assert.equal((await client.answer()).status, 403);
    client.destroy();
    assert.deepEqual(fixture.files(), []);
    assert.deepEqual(fixture.diary, ['upload-begin', 'upload-abort']);
  });

  it('whose commit fails is removed, and the reservation ends', async () => {
    fixture = await startUploads();
    fixture.refuse.set('upload-commit', new ServiceError('STORAGE_FULL', 'full'));
    const answer = await upload(fixture.gateway.port, good);
    assert.equal(answer.status, 507);
    assert.deepEqual(fixture.files(), []);
    assert.deepEqual(fixture.diary, ['upload-begin', 'upload-commit', 'upload-abort']);
  });

  it('whose thread dies is answered 503, and leaves nothing', async () => {
    const tasks = new URL('../support/dying-bulk-tasks.ts', import.meta.url);
    fixture = await startUploads({ bulk: { tasks } });
    const answer = await upload(fixture.gateway.port, Buffer.from('die'));
    assert.deepEqual([answer.status, answer.body.code], [503, 'OVERLOADED']);
    assert.deepEqual(fixture.files(), []);
    assert.equal((await upload(fixture.gateway.port, good)).status, 200);
  });

  it('waits until another one of the same person is over, when there are many', async () => {
    const underWay = new OwnTally();
    for (let i = 0; i < 32; i++) underWay.add('transfer usr_1');
    fixture = await startUploads({ transfers: new Transfers(underWay) });
    const refused = await upload(fixture.gateway.port, good);
    assert.deepEqual([refused.status, refused.body.code], [429, 'RATE_LIMITED']);
    assert.deepEqual(fixture.diary, []);
    underWay.remove('transfer usr_1');
    assert.equal((await upload(fixture.gateway.port, good)).status, 200);
    assert.equal((await upload(fixture.gateway.port, good)).status, 200);
  });
});
