/** A destination at a server of S3 that is not ours, and that looks at signatures. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import type { S3Place } from '../../../../../src/backups/destinations/destination.ts';
import { testDestination } from '../../../../../src/backups/destinations/probe.ts';
import { S3Destination } from '../../../../../src/backups/destinations/s3/s3-destination.ts';
import { writeAll } from '../../../../conformance/destination.suite.ts';
import { loopbackFetch, placeIn } from '../../../../support/bucket.ts';
import { type RunningS3rver, startS3rver } from '../../../../support/s3rver.ts';

const never = new AbortController().signal;

describe('an S3Destination at s3rver', () => {
  let server: RunningS3rver | undefined;
  before(async () => {
    server = await startS3rver('backups');
  });
  after(() => server?.close());

  const at = (place: Partial<S3Place> = {}): S3Destination =>
    new S3Destination({ ...placeIn(server?.port ?? 0), ...place }, { fetch: loopbackFetch });

  it('is tested', async () => {
    await testDestination(at(), never);
  });

  it('keeps an object of several parts, and gives any range of it', async () => {
    const written = randomBytes(34 * 2 ** 20);
    const destination = at();
    const writer = await destination.open('large.gz.age', never);
    await writeAll(writer, written, 2 ** 20);
    await writer.finish();
    const { bytes, stream } = await destination.read('large.gz.age');
    assert.equal(bytes, written.length);
    assert.ok((await buffer(stream)).equals(written));
    const range = { start: 17_000_000, end: 20_000_000 };
    const part = await buffer((await destination.read('large.gz.age', range)).stream);
    assert.ok(part.equals(written.subarray(range.start, range.end + 1)));
    await destination.remove('large.gz.age');
    await assert.rejects(destination.read('large.gz.age'), { code: 'ARTIFACT_GONE' });
  });

  it('takes nothing of a prefix for more than a name', async () => {
    await testDestination(at({ prefix: 'a+b_c/d.e-f/' }), never);
  });

  for (const [what, place, message] of [
    ['another secret key', { secretKey: 'other' }, /check secretKey and region/],
    ['another access key', { accessKey: 'other' }, /does not know the access key/],
    ['another bucket', { bucket: 'others' }, /no such bucket/],
  ] as const) {
    it(`is refused with ${what}`, async () => {
      const refused = { code: 'DESTINATION_FAILED', message };
      await assert.rejects(testDestination(at(place), never), refused);
    });
  }
});
