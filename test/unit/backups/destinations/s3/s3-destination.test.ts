import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { testDestination } from '../../../../../src/backups/destinations/probe.ts';
import { baseOf, type BucketTiming } from '../../../../../src/backups/destinations/s3/bucket.ts';
import { S3Destination } from '../../../../../src/backups/destinations/s3/s3-destination.ts';
import { run, suitePartBytes, writeAll } from '../../../../conformance/destination.suite.ts';
import { type BucketFault, BucketServer, loopbackFetch } from '../../../../support/bucket.ts';

const timing: BucketTiming = { silenceMs: 60_000, tries: 3, backoffMs: 1, cleanUpMs: 60_000 };
const hasty: BucketTiming = { ...timing, silenceMs: 20, tries: 2 };
const never = new AbortController().signal;

const open = ({ place }: BucketServer, of = timing): S3Destination =>
  new S3Destination(place, { fetch: loopbackFetch, timing: of, partBytes: suitePartBytes });

run('s3', async () => {
  const bucket = await BucketServer.start();
  return {
    destination: open(bucket),
    names: () => bucket.names(),
    close: () => bucket.close(),
  };
});

describe('S3Destination', () => {
  let bucket: BucketServer;
  let destination: S3Destination;
  const large = randomBytes(3 * suitePartBytes + 9);
  beforeEach(async () => {
    bucket = await BucketServer.start();
    destination = open(bucket);
  });
  afterEach(() => bucket.close());

  const write = async (bytes: Buffer, into = destination): Promise<void> => {
    const writer = await into.open('object', never);
    await writeAll(writer, bytes, 50_000);
    await writer.finish();
  };
  const read = async (from = destination): Promise<Buffer> => {
    const { stream } = await from.read('object');
    return await buffer(stream);
  };
  /** Each request fails so for its first times. */
  const failFirst = (fault: BucketFault, times: number): void => {
    const seen = new Map<string, number>();
    bucket.fault = ({ method, key, query }) => {
      const what = `${method} ${key} ${query.toString()}`;
      const count = (seen.get(what) ?? 0) + 1;
      seen.set(what, count);
      // The answer to HEAD has no body, and so no code.
      return count <= times && method !== 'HEAD' ? fault : undefined;
    };
  };
  const failsWith = (message: RegExp) => ({ code: 'DESTINATION_FAILED', message });

  it('puts all its keys below its prefix', async () => {
    await write(large);
    await write(Buffer.from('small'));
    assert.ok(bucket.calls.every((call) => / team\/dst_1\/object(\?|$)/.test(call)));
  });

  for (const [what, fault] of [
    ['busy', { status: 503, code: 'SlowDown' }],
    ['faulty', { status: 500, code: 'InternalError' }],
    ['impatient', { status: 400, code: 'RequestTimeout' }],
  ] as const) {
    it(`tries again where the bucket is ${what}, and gives up in the end`, async () => {
      failFirst(fault, 2);
      await write(large);
      assert.ok((await read()).equals(large));
      bucket.objects.clear();
      failFirst(fault, 3);
      await assert.rejects(write(large), failsWith(new RegExp(fault.code)));
      bucket.fault = () => undefined;
      await destination.sweep(() => false, never);
      assert.deepEqual(bucket.names(), []);
    });
  }

  it('tries again where the bucket is silent, and gives up in the end', async () => {
    failFirst('silence', 1);
    await write(Buffer.from('small'), open(bucket, { ...timing, silenceMs: 250, tries: 20 }));
    const impatient = open(bucket, hasty);
    bucket.fault = () => 'silence';
    await assert.rejects(write(Buffer.from('small'), impatient), failsWith(/does not answer/));
    await assert.rejects(read(impatient), failsWith(/does not answer/));
  });

  it('holds each try to its silence where a body stops coming', async () => {
    await write(large);
    const impatient = open(bucket, { ...timing, silenceMs: 1_000 });
    bucket.fault = ({ method }) => (method === 'GET' ? 'stall' : undefined);
    await assert.rejects(read(impatient), failsWith(/breaks off/));
  });

  it('goes on where a read broke off', async () => {
    await write(large);
    bucket.fault = once(({ method }) => method === 'GET', 'half');
    assert.ok((await read()).equals(large));
    assert.equal(bucket.calls.filter((call) => call.startsWith('GET')).length, 2);
  });

  for (const [status, code, sentence] of [
    [403, 'AccessDenied', /denies access.*\(403 AccessDenied\)/],
    [403, 'SignatureDoesNotMatch', /check secretKey and region/],
    [403, 'InvalidAccessKeyId', /does not know the access key/],
    [404, 'NoSuchBucket', /no such bucket/],
    [400, 'AuthorizationHeaderMalformed', /check region/],
    [301, 'PermanentRedirect', /redirects are not followed/],
    [418, '<b>odd</b>', /answered with an error. \(418\)/],
  ] as const) {
    it(`says plainly what ${String(status)} ${code} is, and asks once`, async () => {
      bucket.fault = ({ method }) => (method === 'DELETE' ? undefined : { status, code });
      await assert.rejects(write(Buffer.from('x')), failsWith(sentence));
      await assert.rejects(write(large), failsWith(sentence));
      assert.equal(bucket.calls.filter((call) => call.startsWith('PUT')).length, 1);
      assert.deepEqual(bucket.names(), []);
    });
  }

  it('says that the bucket is full in the midst of an upload, of which no part stays', async () => {
    let parts = 0;
    bucket.fault = ({ method }) =>
      method === 'PUT' && ++parts > 1 ? { status: 507, code: 'XMinioStorageFull' } : undefined;
    const writer = await destination.open('object', never);
    const writing = writer.write(large).then(() => writer.finish());
    await assert.rejects(writing, failsWith(/507 XMinioStorageFull/));
    await writer.abort();
    assert.equal(parts, 2);
    assert.deepEqual(bucket.names(), []);
  });

  it('follows no redirect', async () => {
    const other = await BucketServer.start();
    try {
      const location = `http://127.0.0.1:${String(other.port)}/backups/x`;
      bucket.fault = () => ({ status: 307, code: 'TemporaryRedirect', headers: { location } });
      await assert.rejects(testDestination(destination, never), failsWith(/elsewhere/));
      assert.deepEqual(other.calls, []);
    } finally {
      other.close();
    }
  });

  for (const [what, stored] of [
    ['less', (body: Buffer) => body.subarray(1)],
    ['more', (body: Buffer) => Buffer.concat([body, body])],
  ] as const) {
    it(`finds out that a bucket keeps ${what} than was written`, async () => {
      bucket.stored = stored;
      await assert.rejects(write(Buffer.from('some bytes')), failsWith(/of the 10 that were/));
      await assert.rejects(write(large), failsWith(/of the \d+ that were/));
      assert.deepEqual(bucket.names(), []);
    });
  }

  it('finds out that a bucket keeps something else of the same length', async () => {
    bucket.stored = (body) => Buffer.alloc(body.length);
    await assert.rejects(testDestination(destination, never), failsWith(/not what was written/));
    assert.deepEqual(bucket.names(), []);
  });

  it('finds out that another part was sent than the one it asked for', async () => {
    await write(large);
    const headers = { 'content-range': 'bytes 1-2/3', 'content-length': '0' };
    bucket.fault = ({ method }) => (method === 'GET' ? { status: 206, headers } : undefined);
    await assert.rejects(read(), failsWith(/part of the backup that was asked for/));
  });

  it('finds out that more is sent than there is', async () => {
    await write(large);
    bucket.fault = ({ method }) => (method === 'GET' ? 'more' : undefined);
    await assert.rejects(read(), failsWith(/sends more than it said/));
  });

  it('reads no answer without end', async () => {
    bucket.fault = ({ method }) => (method === 'POST' ? { text: 'x'.repeat(2 ** 21) } : undefined);
    await assert.rejects(write(large), failsWith(/more than was asked for/));
    assert.deepEqual(bucket.names(), []);
  });

  it('takes a completion for failed that says so with status 200', async () => {
    const text = '<?xml version="1.0"?>\n<Error><Code>InvalidPart</Code></Error>';
    bucket.fault = ({ method, query }) =>
      method === 'POST' && query.has('uploadId') ? { text } : undefined;
    await assert.rejects(write(large), failsWith(/InvalidPart/));
    assert.deepEqual(bucket.names(), []);
  });

  it('takes a completion for done of which only the answer was lost', async () => {
    bucket.fault = once(({ method, query }) => method === 'POST' && query.has('uploadId'), 'lost');
    await write(large);
    assert.ok((await read()).equals(large));
  });

  it('ends an upload too of which the answer to its beginning was lost', async () => {
    bucket.fault = once(({ query }) => query.has('uploads'), 'lost');
    const writer = await destination.open('object', never);
    await writeAll(writer, large, 50_000);
    await writer.abort();
    assert.deepEqual(bucket.names(), []);
  });

  it('stops while the bucket is silent', async () => {
    bucket.fault = ({ method }) => (method === 'PUT' ? 'silence' : undefined);
    const cancel = new AbortController();
    const writer = await destination.open('object', cancel.signal);
    const writing = writeAll(writer, large, 50_000);
    const reason = new Error('cancelled');
    cancel.abort(reason);
    await assert.rejects(writing, reason);
    await writer.abort();
    assert.deepEqual(bucket.names(), []);
  });

  it('sweeps page by page, and nothing of others', async () => {
    bucket.uploadsAPage = 2;
    const left = ['a', 'b', 'c', 'd', 'e'].map((name) => [name, `team/dst_1/${name}`]);
    const foreign = [
      ['x', 'team/dst_10/x'],
      ['y', 'other'],
    ] as const;
    for (const [id = '', key = ''] of [...left, ...foreign]) {
      bucket.uploads.set(id, { key, parts: new Map() });
    }
    await destination.sweep((key) => key === 'b', never);
    assert.deepEqual([...bucket.uploads.keys()], ['b', 'x', 'y']);
  });

  for (const status of [400, 403, 404, 405, 501]) {
    it(`ends its upload also where uploads are not listed, with ${String(status)}`, async () => {
      bucket.fault = ({ method, query }) =>
        method === 'GET' && query.has('uploads') ? { status, code: 'NotImplemented' } : undefined;
      const writer = await destination.open('object', never);
      await writeAll(writer, large, 50_000);
      await writer.abort();
      assert.deepEqual(bucket.names(), []);
      await destination.sweep(() => false, never);
    });
  }

  it('has two parts in memory at most', async () => {
    const held = Promise.withResolvers<undefined>();
    bucket.fault = ({ method }) => (method === 'PUT' ? 'silence' : undefined);
    const cancel = new AbortController();
    const writer = await destination.open('object', cancel.signal);
    let taken = 0;
    const writing = (async () => {
      for (;;) {
        await writer.write(Buffer.alloc(1000));
        taken += 1000;
        if (taken >= 2 * suitePartBytes - 1000) held.resolve(undefined);
      }
    })();
    await held.promise;
    for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
    assert.ok(taken <= 2 * suitePartBytes, String(taken));
    cancel.abort(new Error('enough'));
    await assert.rejects(writing, /enough/);
    await writer.abort();
  });

  for (const [endpoint, name, base] of [
    ['https://s3.example.com', 'b1', 'https://s3.example.com/b1'],
    ['https://s3.example.com:9000/at/', 'b1', 'https://s3.example.com:9000/at/b1'],
    ['https://b1.s3.example.com', 'b1', 'https://b1.s3.example.com'],
    ['https://s3.eu-west-1.amazonaws.com', 'b1', 'https://b1.s3.eu-west-1.amazonaws.com'],
    ['https://s3.eu-west-1.amazonaws.com', 'b.1', 'https://s3.eu-west-1.amazonaws.com/b.1'],
  ] as const) {
    it(`finds bucket ${name} of ${endpoint}`, () => {
      assert.equal(baseOf({ endpoint, bucket: name }), base);
    });
  }
});

type Call = Parameters<BucketServer['fault']>[0];

function once(is: (call: Call) => boolean, fault: BucketFault): BucketServer['fault'] {
  let isOver = false;
  return (call) => {
    if (isOver || !is(call)) return undefined;
    isOver = true;
    return fault;
  };
}
