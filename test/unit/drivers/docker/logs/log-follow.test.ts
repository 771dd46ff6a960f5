import assert from 'node:assert/strict';
import fs from 'node:fs';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, it } from 'node:test';

import type Dockerode from 'dockerode';

import { LogFollow } from '../../../../../src/drivers/docker/logs/log-follow.ts';
import { MergeJournals, onlyLog } from '../../../../../src/drivers/docker/logs/merge-journal.ts';
import type { LogEntry } from '../../../../../src/protocol/workload.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { noLog, tempDir } from '../../../../support/runner.ts';

type Line = readonly [atNs: number, stream: 'stdout' | 'stderr', text: string];

const second = 1_000_000_000;
/** Text whose order is that of time, as the daemon writes it. */
const timeOf = (atNs: number): string =>
  `2026-01-01T00:${String(Math.floor(atNs / second / 60)).padStart(2, '0')}:` +
  `${String(Math.floor(atNs / second) % 60).padStart(2, '0')}.` +
  `${String(atNs % second).padStart(9, '0')}Z`;
const baseS = Date.parse('2026-01-01T00:00:00Z') / 1000;

/** A daemon that has the log of one container, which has ended. */
class Place {
  readonly dir = tempDir();
  log: Line[] = [];
  /** How many readings break behind so many bytes, instead of coming to the end. */
  breaks: number[] = [];
  /** Whether it says so in a frame, as a daemon does that cannot read its own files. */
  saysWhy = false;
  hasTerminal = false;
  /** Its state changes while it is followed, and its log comes while that is looked at. */
  changes = false;
  readonly #looking = Promise.withResolvers<undefined>();
  readonly #came = Promise.withResolvers<undefined>();
  journals = new MergeJournals(this.dir);

  async read(
    afterSeq: number,
    sink: (entry: LogEntry) => void = () => undefined,
  ): Promise<string[]> {
    const told: string[] = [];
    let looks = 0;
    const docker = { getContainer: () => ({ logs: this.#logs.bind(this) }) } as unknown;
    const parts = {
      engine: {
        begin: <T>(question: (docker: Dockerode) => Promise<T>) => question(docker as Dockerode),
        closed: new AbortController().signal,
      },
      journal: this.journals.of('a'),
      logger: noLog,
      clock: new ManualClock(),
      look: async () => {
        if (this.changes && ++looks === 2) {
          this.#looking.resolve(undefined);
          await this.#came.promise;
        }
        const source = { id: onlyLog, container: 'a', hasTerminal: this.hasTerminal, isOver: true };
        return { ended: true, sources: [source] };
      },
      watch: (changed: () => void) => {
        if (this.changes) setImmediate(changed);
        return () => undefined;
      },
    };
    const take = (entries: readonly LogEntry[]): void => {
      for (const entry of entries) {
        told.push(`${String(entry.seq)} ${Buffer.from(entry.bytes).toString()}`);
        sink(entry);
      }
    };
    await new LogFollow(parts, 'a', afterSeq, take, new AbortController().signal).run();
    return told;
  }

  /** As a new process finds it. */
  reopen(): void {
    this.journals = new MergeJournals(this.dir);
  }

  async #logs({ since }: { since: string }): Promise<Readable> {
    if (this.changes) await this.#looking.promise;
    const [seconds = '0', nanos = '0'] = since.split('.');
    const sinceNs = (Number(seconds) - baseS) * second + Number(nanos);
    const kept = since === '0' ? this.log : this.log.filter(([atNs]) => atNs >= sinceNs);
    const bytes = Buffer.concat(kept.map((line) => this.#bytesOf(line)));
    const broken = this.breaks.shift();
    const stream = Readable.from(this.#chunks(bytes, broken));
    if (this.changes) stream.once('close', () => setImmediate(this.#came.resolve, undefined));
    return stream;
  }

  *#chunks(bytes: Buffer, broken: number | undefined): Generator<Buffer> {
    const whole = bytes.subarray(0, broken);
    for (let at = 0; at < whole.length; at += 100) yield whole.subarray(at, at + 100);
    if (broken !== undefined && this.saysWhy) {
      yield framed(3, Buffer.from('Error grabbing logs: unexpected EOF'));
      return;
    }
    if (broken !== undefined) throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
  }

  #bytesOf([atNs, stream, text]: Line): Buffer {
    const line = Buffer.from(`${timeOf(atNs)} ${text}`);
    return this.hasTerminal ? line : framed(stream === 'stdout' ? 1 : 2, line);
  }
}

function framed(kind: number, bytes: Buffer): Buffer {
  const header = Buffer.alloc(8);
  header[0] = kind;
  header.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([header, bytes]);
}

describe('following the log of a container', () => {
  let place: Place;
  beforeEach(() => {
    place = new Place();
  });
  afterEach(() => {
    fs.rmSync(place.dir, { recursive: true });
  });

  /** Told, and acknowledged up to `seq`, before the process was killed. */
  async function readBefore(seq: number): Promise<void> {
    await place.read(0);
    place.journals.of('a').acknowledge(seq);
    place.reopen();
  }

  it('gives every entry once, though readings break anywhere and many share a time', async () => {
    for (let n = 0; n < 60; n++) {
      const stream = n % 3 === 0 ? 'stderr' : 'stdout';
      place.log.push([second + Math.floor(n / 12), stream, `n ${String(n % 12)}\n`]);
    }
    const whole = await place.read(0);
    assert.equal(whole.length, 60);
    place.journals.forget('a');
    place.breaks = [0, 50, 333, 1000, 1500, 2000];
    assert.deepEqual(await place.read(0), whole);
    assert.deepEqual(await place.read(31), whole.slice(31));
  });

  it('tells again what came while it looked at the workload', async () => {
    for (let n = 0; n < 3; n++) place.log.push([second + n, 'stdout', `${String(n)}\n`]);
    const whole = await place.read(0);
    place.changes = true;
    assert.deepEqual(await place.read(0), whole);
  });

  it('goes on when the daemon says that it could not read on', async () => {
    for (let n = 0; n < 9; n++) place.log.push([second + n, 'stdout', `${String(n)}\n`]);
    const whole = await place.read(0);
    place.journals.forget('a');
    place.saysWhy = true;
    const frame = 8 + timeOf(0).length + ' 0\n'.length;
    place.breaks = [0, 2 * frame, 5 * frame];
    assert.deepEqual(await place.read(0), whole);
  });

  it('tells what is left of a log that was rotated away behind what was told before', async () => {
    place.log = [1, 2, 3, 4, 5].map((n) => [n * second, 'stdout', `n ${String(n)}\n`]);
    await readBefore(5);
    place.log = [7, 8].map((n) => [n * 10 * second, 'stdout', `n ${String(n)}\n`]);
    const rest = ['6 n 7\n', '7 n 8\n'];
    assert.deepEqual(await place.read(5), rest);
    place.reopen();
    assert.deepEqual(await place.read(6), rest.slice(1), 'the same numbers, for who comes later');
  });

  it('tells what is left also where nothing was acknowledged of the log', async () => {
    place.log = [1, 2, 3].map((n) => [n * second, 'stdout', `n ${String(n)}\n`]);
    await readBefore(0);
    place.log = [9, 10].map((n) => [n * second, 'stdout', `n ${String(n)}\n`]);
    const rest = ['4 n 9\n', '5 n 10\n'];
    assert.deepEqual(await place.read(2), rest, 'what was lost keeps its number');
    assert.deepEqual(await place.read(4), rest.slice(1));
  });

  it('goes on behind what a daemon lost of the end of its log', async () => {
    const line = (n: number): Line => [n * second, 'stdout', `n ${String(n)}\n`];
    place.log = [line(1), line(2), line(3), line(4)];
    await readBefore(4);
    place.log = [line(1), line(2), line(40)];
    assert.deepEqual(await place.read(4), ['5 n 40\n']);
  });

  it('tells nothing again when the daemon begins a file anew that it rotates', async () => {
    const line = (n: number): Line => [n * second, 'stdout', `n ${String(n)}\n`];
    const [one, two, three] = [line(1), line(2), line(3)];
    // As it is sent while it is followed: the newest file had one line, then three.
    place.log = [one, two, two, three, line(4), two, three, line(4), line(5)];
    const whole = ['1 n 1\n', '2 n 2\n', '3 n 3\n', '4 n 4\n', '5 n 5\n'];
    assert.deepEqual(await place.read(0), whole);
    place.log = [one, two, three, line(4), line(5)];
    assert.deepEqual(await place.read(3), whole.slice(3), 'by the numbers that stand in the file');
  });

  it('keeps the pieces of a long line apart from others of their time', async () => {
    const piece = 'x'.repeat(16 * 1024);
    place.log = [
      [second, 'stdout', piece],
      [second, 'stderr', 'e\n'],
      [second, 'stdout', piece],
      [second, 'stdout', 'end'],
      [second + 1, 'stdout', 'next\n'],
    ];
    const texts = (told: readonly string[]): string[] => told.map((text) => text.slice(0, 5));
    const whole = await place.read(0);
    assert.deepEqual(texts(whole), ['1 xxx', '2 e\n', '3 xxx', '4 end', '5 nex']);
    assert.equal(whole[3], '4 end\n', 'the daemon loses the end of a long line');
    place.breaks = [40_000];
    for (const seq of [1, 2, 3, 4]) assert.deepEqual(await place.read(seq), whole.slice(seq));
  });

  it('gives what a program on a terminal wrote last, also when it was started again', async () => {
    place.hasTerminal = true;
    const old = timeOf(0);
    place.log = [
      [second, 'stdout', `says ${old} and more\r\n`],
      [second, 'stdout', '$ exit'],
    ];
    const first = [`1 says ${old} and more\r\n`, '2 $ exit'];
    assert.deepEqual(await place.read(0), first);
    place.log.push([2 * second, 'stdout', 'again\r\n']);
    const whole = [...first, '3 again\r\n'];
    assert.deepEqual(await place.read(0), whole);
    assert.deepEqual(await place.read(2), whole.slice(2));
    place.journals.forget('a');
    assert.deepEqual(await place.read(0), whole);
  });
});
