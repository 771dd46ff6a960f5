import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { BodySink } from '../../../../src/gateway/transport.ts';
import type { Framing } from '../../../../src/gateway/http/framing.ts';
import { fullReadBytes, HeldBytes } from '../../../../src/gateway/http/held-bytes.ts';
import { RequestBody } from '../../../../src/gateway/http/request-body.ts';
import type { ServiceError } from '../../../../src/lib/errors.ts';
import { heldFiles } from '../../../support/held-files.ts';
import { tempDir } from '../../../support/runner.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';

class Source {
  paused = false;

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    assert.ok(this.paused, 'resume comes only after pause');
    this.paused = false;
  }
}

class Sink implements BodySink {
  readonly chunks: Buffer[] = [];
  ended = 0;
  failed: ServiceError | 'aborted' | undefined;
  takes = true;

  chunk(bytes: ArrayBuffer): boolean {
    // They are only lent.
    this.chunks.push(Buffer.from(bytes.slice(0)));
    return this.takes;
  }

  end(): void {
    this.ended += 1;
  }

  fail(reason: ServiceError | 'aborted'): void {
    this.failed = reason;
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString();
  }
}

const limits = { idleMs: 60_000, minBytesPerS: 1024, windowMs: 60_000 };

function start(framing: Framing = { kind: 'length', bytes: 6 }, held = new HeldBytes(null)) {
  const clock = new ManualClock();
  const source = new Source();
  const body = new RequestBody(source, framing, limits, () => clock.now(), held);
  return { clock, source, body, sink: new Sink() };
}

/** Bytes as the library lends them: gone after the call. */
function lend(body: RequestBody, text: string, last: boolean): void {
  const bytes = Uint8Array.from(Buffer.from(text)).buffer;
  body.receive(bytes, last);
  new Uint8Array(bytes).fill(0);
}

describe('RequestBody', () => {
  it('gives any split of a body whole, whatever stops and reading late do', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 10 }),
        fc.nat(10),
        fc.boolean(),
        fc.boolean(),
        async (parts, readAt, stops, chunked) => {
          const bytes = Buffer.byteLength(parts.join(''));
          const { body, sink, source } = start(
            chunked ? { kind: 'chunked' } : { kind: 'length', bytes },
          );
          sink.takes = !stops;
          let flow = { resume: (): void => undefined };
          for (const [index, part] of parts.entries()) {
            if (index === Math.min(readAt, parts.length - 1)) flow = body.read(1000, sink);
            lend(body, part, index === parts.length - 1);
            await settle();
            flow.resume();
          }
          for (let i = 0; i <= parts.length; i++) flow.resume();
          await settle();
          assert.equal(sink.text, parts.join(''));
          assert.equal(sink.ended, 1);
          assert.equal(source.paused, false);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('pauses the client and holds the end while the reader says stop', async () => {
    const { body, sink, source } = start();
    sink.takes = false;
    const flow = body.read(100, sink);
    await settle();
    lend(body, 'abc', false);
    assert.equal(source.paused, true);
    lend(body, 'd', false);
    assert.equal(sink.text, 'abcd', 'what comes all the same goes to the reader');
    lend(body, 'ef', true);
    assert.equal(source.paused, false, 'to notice a client that leaves');
    assert.equal(sink.text, 'abcdef');
    assert.equal(sink.ended, 0);
    flow.resume();
    assert.equal(sink.ended, 1);
  });

  it('counts neither the time before there is a reader nor the time of a stop', async () => {
    const { body, sink, clock } = start();
    await clock.advance(120_000);
    body.tick();
    const flow = body.read(100, sink);
    await settle();
    sink.takes = false;
    lend(body, 'a', false);
    await clock.advance(120_000);
    body.tick();
    flow.resume();
    body.tick();
    assert.equal(sink.failed, undefined);
    await clock.advance(60_000);
    body.tick();
    assert.equal((sink.failed as unknown as ServiceError).code, 'REQUEST_TIMEOUT');
  });

  it('fails a body that trickles below the rate, and not one just above', async () => {
    for (const [bytesPerTick, fails] of [
      [2000, true],
      [4100, false],
    ] as const) {
      const { body, sink, clock } = start({ kind: 'length', bytes: 1e9 });
      body.read(1e9, sink);
      await settle();
      for (let i = 0; i < 31; i++) {
        lend(body, 'x'.repeat(bytesPerTick), false);
        await clock.advance(4000);
        body.tick();
      }
      assert.equal(sink.failed !== undefined, fails, String(bytesPerTick));
    }
  });

  it('hands over no more of what it holds than the reader wants, and drops the rest with it', async (t) => {
    const dir = tempDir();
    t.after(() => rmSync(dir, { recursive: true }));
    const held = new HeldBytes(dir);
    t.after(() => held.close());
    const full = 'x'.repeat(fullReadBytes);
    const { body, sink, source } = start({ kind: 'length', bytes: 1e9 }, held);
    for (let i = 0; i < 3; i++) lend(body, full, false);
    assert.deepEqual(heldFiles(process.pid, dir), [3 * fullReadBytes]);
    sink.takes = false;
    const flow = body.read(1e9, sink);
    await settle();
    assert.equal(sink.text.length, fullReadBytes);
    flow.resume();
    assert.equal(sink.text.length, 2 * fullReadBytes);
    assert.equal(source.paused, true);
    lend(body, 'behind', false);
    flow.resume();
    flow.resume();
    assert.equal(sink.text, `${full.repeat(3)}behind`);
    for (let i = 0; i < 3; i++) lend(body, full, false);
    body.fail('aborted');
    assert.deepEqual(heldFiles(process.pid, dir), [0]);
  });

  it('fails when what it held cannot be read back', async (t) => {
    const dir = tempDir();
    t.after(() => rmSync(dir, { recursive: true }));
    const held = new HeldBytes(dir);
    const { body, sink } = start({ kind: 'length', bytes: 1e9 }, held);
    lend(body, 'x'.repeat(fullReadBytes), false);
    held.close();
    body.read(1e9, sink);
    await settle();
    assert.equal((sink.failed as unknown as ServiceError).code, 'INTERNAL');
    assert.equal(sink.text, '');
  });

  it('fails once, and drops what comes after', async () => {
    const { body, sink } = start({ kind: 'chunked' });
    body.read(3, sink);
    await settle();
    lend(body, 'abcd', false);
    lend(body, 'efgh', true);
    await settle();
    assert.equal((sink.failed as unknown as ServiceError).code, 'PAYLOAD_TOO_LARGE');
    assert.equal(sink.text, '');
    assert.equal(sink.ended, 0);
  });

  describe('offers a body that came in one piece where it lies', () => {
    class Borrower extends Sink {
      seen: string | undefined;
      wants = true;

      lent(bytes: ArrayBuffer): boolean {
        if (this.wants) this.seen = Buffer.from(bytes).toString();
        return this.wants;
      }
    }

    it('in place of chunk and end', () => {
      const { body } = start();
      const sink = new Borrower();
      body.read(6, sink);
      lend(body, 'abcdef', true);
      assert.equal(sink.seen, 'abcdef');
      assert.deepEqual(
        [sink.text, sink.ended, body.hasLongRest(true), body.flowing],
        ['', 0, false, false],
      );
      body.fail('aborted');
      assert.equal(sink.failed, undefined);
    });

    it('and as chunks to who does not want it so', () => {
      const { body } = start();
      const sink = new Borrower();
      sink.wants = false;
      body.read(6, sink);
      lend(body, 'abcdef', true);
      assert.deepEqual([sink.seen, sink.text, sink.ended], [undefined, 'abcdef', 1]);
    });

    it('but not one of several pieces, of unknown length, too long, or before it is read', async () => {
      const split = start();
      const late = start();
      const chunked = start({ kind: 'chunked' });
      const long = start();
      const sinks = [0, 1, 2, 3].map(() => new Borrower());
      split.body.read(6, sinks[0]!);
      lend(split.body, 'abc', false);
      lend(split.body, 'def', true);
      lend(late.body, 'abcdef', true);
      late.body.read(6, sinks[1]!);
      chunked.body.read(6, sinks[2]!);
      lend(chunked.body, 'abcdef', true);
      long.body.read(5, sinks[3]!);
      lend(long.body, 'abcdef', true);
      await settle();
      await new Promise(setImmediate);
      assert.deepEqual(
        sinks.map(({ seen, text, ended }) => [seen, text, ended]),
        [
          [undefined, 'abcdef', 1],
          [undefined, 'abcdef', 1],
          [undefined, 'abcdef', 1],
          [undefined, '', 0],
        ],
      );
      assert.equal((sinks[3]!.failed as ServiceError).code, 'PAYLOAD_TOO_LARGE');
    });
  });
});
