import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import {
  buildFailure,
  registryFailure,
} from '../../../../../src/drivers/docker/images/image-failures.ts';
import { BuildKitTrace } from '../../../../../src/drivers/docker/images/buildkit.ts';
import { tellProgress } from '../../../../../src/drivers/docker/images/image-progress.ts';
import { LineReader } from '../../../../../src/drivers/docker/logs/line-reader.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';

async function told(messages: readonly object[], stepMs = 0): Promise<[string[], string | null]> {
  const lines: string[] = [];
  const clock = new ManualClock();
  async function* stream(): AsyncGenerator<Buffer> {
    for (const message of messages) {
      await clock.advance(stepMs);
      yield Buffer.from(`${JSON.stringify(message)}\r\n`);
    }
  }
  const failure = await tellProgress(stream(), (line) => lines.push(line), clock);
  return [lines, failure];
}

describe('the progress of an image', () => {
  it('sums layers up, at most once a second, and once at the end', async () => {
    const layer = (id: string, current: number): object => ({
      id,
      status: 'Downloading',
      progressDetail: { current, total: 10_000_000 },
    });
    const steps = Array.from({ length: 100 }, (_, i) => layer('a', i * 100_000));
    const [lines] = await told(
      [{ status: 'Pulling from x' }, ...steps, { id: 'a', status: 'Pull complete' }],
      50,
    );
    assert.equal(lines[0], 'Pulling from x');
    assert.ok(lines.length <= 8, lines.join('\n'));
    assert.equal(lines.at(-1), 'Pulling: 1 of 1 layers, 10.0 of 10.0 MB');
  });

  it('gives back what failed', async () => {
    const [, failure] = await told([{ errorDetail: { message: 'exit 3' }, error: 'exit' }]);
    assert.equal(failure, 'exit 3');
  });

  it('reads lines over any bounds, and lets none grow for ever', () => {
    const reader = new LineReader();
    const bytes = Buffer.from('ä\r\n\nb');
    assert.deepEqual(
      [...bytes].flatMap((byte) => reader.push(Buffer.of(byte))),
      ['ä'],
    );
    assert.deepEqual(reader.end(), ['b']);
    assert.equal(new LineReader().push(Buffer.alloc(2_000_000, 'x')).length, 1);
  });
});

describe('the progress of BuildKit', () => {
  /** A field of a message: text, bytes or a small number. */
  const field = (number: number, value: string | Buffer | number): Buffer => {
    if (typeof value === 'number') return Buffer.of(number << 3, value);
    const bytes = Buffer.from(value);
    const length =
      bytes.length < 128 ? [bytes.length] : [(bytes.length & 127) | 128, bytes.length >> 7];
    return Buffer.concat([Buffer.of((number << 3) | 2, ...length), bytes]);
  };
  const step = (name: string, ...more: Buffer[]): Buffer =>
    field(1, Buffer.concat([field(1, name), field(3, name), ...more]));
  const log = (of: string, text: string): Buffer =>
    field(3, Buffer.concat([field(1, of), field(3, 1), field(4, text)]));
  const trace = (...parts: Buffer[]): object => ({
    id: 'moby.buildkit.trace',
    aux: Buffer.concat(parts).toString('base64'),
  });
  const started = field(5, field(1, 7));

  it('is a line for each step as it begins, and what it prints', async () => {
    const long = 'x'.repeat(200);
    const [lines, failure] = await told([
      trace(step('[1/2] FROM x'), step('[internal] load', started)),
      trace(step('[1/2] FROM x', field(4, 1))),
      trace(step('[2/2] RUN y', started), log('[2/2] RUN y', `half `)),
      trace(step('[2/2] RUN y', started), log('[2/2] RUN y', `a line\n${long}`)),
    ]);
    assert.deepEqual(lines, ['[1/2] FROM x (cached)', '[2/2] RUN y', 'half a line', long]);
    assert.equal(failure, null);
  });

  it('that is cut short is an error, and never without end', () => {
    const whole = Buffer.concat([step('[1/1] RUN x', started), log('[1/1] RUN x', 'text\n')]);
    for (let length = 1; length < whole.length; length++) {
      const cut = whole.subarray(0, length).toString('base64');
      try {
        new BuildKitTrace().push(cut);
      } catch (error) {
        assert.ok(error instanceof RangeError, String(error));
      }
    }
    assert.throws(() => new BuildKitTrace().push(Buffer.alloc(100, 255).toString('base64')));
  });
});

describe('why an image is not to be had', () => {
  const codeOf = (words: string, withLogin = false): string | undefined =>
    registryFailure('x:1', words, withLogin)?.code;

  it('is the registry, or the image', () => {
    const denied =
      "pull access denied for x, repository does not exist or may require 'docker login': denied";
    assert.equal(codeOf(denied), 'IMAGE_NOT_FOUND');
    assert.equal(codeOf(denied, true), 'REGISTRY_REFUSED');
    assert.equal(codeOf('Head "https://r/v2/": unauthorized: log in'), 'REGISTRY_REFUSED');
    assert.equal(codeOf('manifest unknown'), 'IMAGE_NOT_FOUND');
    assert.equal(codeOf('no matching manifest for linux/s390x'), 'IMAGE_NOT_FOUND');
    assert.equal(codeOf('dial tcp: lookup r: no such host'), 'REGISTRY_REFUSED');
    assert.equal(codeOf('toomanyrequests: slow down'), 'REGISTRY_REFUSED');
    assert.equal(codeOf('the step failed'), undefined);
  });

  it('is told of a build with the image it is about', () => {
    const hosts = new Set<string>();
    const refused = buildFailure(
      'Head "http://r:1/v2/a/b/manifests/2": no basic auth credentials',
      hosts,
    );
    assert.equal(refused.code, 'REGISTRY_REFUSED');
    assert.match(refused.message, /r:1\/a\/b:2/);
    assert.equal(buildFailure('context canceled', hosts).code, 'AGENT_UNREACHABLE');
    const long = buildFailure('x'.repeat(10_000), hosts);
    assert.equal(long.code, 'IMAGE_BUILD_FAILED');
    assert.ok(long.message.length < 600);
  });
});
