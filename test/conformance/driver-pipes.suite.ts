/**
 * Owns what every driver promises of programs whose streams are the caller's, as tests: `run` them for each,
 * in a place of their own. All run in the same workload.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';

import type { Driver, Pipe } from '../../src/drivers/driver.ts';
import type { TerminalPlace } from './driver-terminals.suite.ts';
import { running, sh, until } from '../support/driver-specs.ts';

const mebibyte = 1024 * 1024;
const never = new AbortController().signal;
/** The workload that they share. */
const host = 'host-1';

type Bytes = AsyncIterable<Uint8Array>;

export async function whole(output: Bytes): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of output) chunks.push(Uint8Array.from(chunk));
  return Buffer.concat(chunks);
}

/** So many pieces of a MiB, or without end; says how many were asked for, and whether it was left. */
export class Pieces {
  readonly hash = createHash('sha256');
  asked = 0;
  left = false;
  readonly #count: number;

  constructor(count = Infinity) {
    this.#count = count;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const piece = randomBytes(mebibyte);
    try {
      while (this.asked < this.#count) {
        this.asked++;
        piece.writeDoubleBE(this.asked);
        this.hash.update(piece);
        yield Uint8Array.from(piece);
        await Promise.resolve();
      }
    } finally {
      this.left = true;
    }
  }
}

async function hashOf(output: Bytes): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of output) hash.update(chunk);
  return hash.digest('hex');
}

async function* failing(bytes: Uint8Array, error: Error): AsyncGenerator<Uint8Array> {
  yield bytes;
  await Promise.resolve();
  throw error;
}

export function run(name: string, create: () => Promise<TerminalPlace>): void {
  describe(`${name} with pipes`, () => {
    let place: TerminalPlace;
    let driver: Driver;

    before(async () => {
      place = await create();
      driver = place.driver;
      const spec = place.specOf({ id: host, kind: 'service', command: sh('exec sleep 100000') });
      await driver.start({ ...spec, env: { ...spec.env, OWN: 'kept' }, stopGraceMs: 500 });
      await until('it runs', async () => (await driver.inspect(host))?.state.phase === 'running');
    });
    after(() => place.close());

    const pipe = (script: string, input: Bytes | null, signal = never): Promise<Pipe> =>
      driver.pipe(host, { command: sh(script), env: { MORE: '!' } }, input, signal);
    const isThere = (text: string): boolean => running(text).length > 0;
    /** Time in which something could go wrong: the driver answers a few more questions. */
    const aWhile = async (): Promise<void> => {
      const spec = { command: sh('true'), env: {}, timeoutMs: 20_000, maxBytes: 10 };
      for (let i = 0; i < 5; i++) await driver.exec(host, spec, never);
    };

    it('carries 24 MiB through a program, as they are', async () => {
      const input = new Pieces(24);
      const { output, ended } = await pipe('cat', input);
      const hash = await hashOf(output);
      assert.deepEqual(await ended, { exitCode: 0, complaint: '' });
      assert.equal(hash, input.hash.digest('hex'));
    });

    it('ends the input of a program that is given none', async () => {
      const { output, ended } = await pipe('cat; echo end', null);
      assert.equal((await whole(output)).toString(), 'end\n');
      assert.equal((await ended).exitCode, 0);
    });

    it('keeps both outputs apart, and tells the exit code and the end of the complaint', async () => {
      const script =
        'echo "$OWN$MORE"; head -c 9000 /dev/zero | tr "\\0" x >&2; echo why >&2; exit 9';
      const { output, ended } = await pipe(script, null);
      assert.equal((await whole(output)).toString(), 'kept!\n');
      const { exitCode, complaint } = await ended;
      assert.equal(exitCode, 9);
      assert.equal(complaint, `${'x'.repeat(4092)}why\n`);
      const killed = await pipe('kill -9 $$', null);
      await whole(killed.output);
      assert.equal((await killed.ended).exitCode, 137);
    });

    it('stops the program, and what feeds it, while nobody takes its output', async () => {
      const input = new Pieces(24);
      const { output, ended } = await pipe('cat', input);
      const taking = output[Symbol.asyncIterator]();
      await taking.next();
      await aWhile();
      assert.ok(input.asked < 8, `${String(input.asked)} MiB were asked for`);
      let bytes = 0;
      for (;;) {
        const next = await taking.next();
        if (next.done === true) break;
        bytes += next.value.length;
      }
      assert.ok(bytes > 23 * mebibyte);
      assert.equal((await ended).exitCode, 0);
    });

    it('asks for no more input than the program takes', async () => {
      const input = new Pieces();
      const over = new AbortController();
      const { output } = await pipe('echo up; exec sleep 7501', input, over.signal);
      await output[Symbol.asyncIterator]().next();
      await aWhile();
      assert.ok(input.asked < 8, `${String(input.asked)} MiB were asked for`);
      over.abort();
      await until('it is gone', () => !isThere('sleep 7501'));
      await until('it is left', () => input.left);
    });

    it('hands on what a slow writer gives at once', async () => {
      let heard = '';
      const talk = async function* (): AsyncGenerator<Uint8Array> {
        for (let i = 0; i < 10; i++) {
          yield Buffer.from(`line ${String(i)}\n`);
          await until('it comes back', () => heard.endsWith(`line ${String(i)}\n`));
        }
      };
      const { output, ended } = await pipe('exec cat', talk());
      for await (const bytes of output) heard += Buffer.from(bytes).toString();
      assert.equal(heard.trim().split('\n').length, 10);
      assert.equal((await ended).exitCode, 0);
    });

    it('tells the end of a program whose output is taken long after it', async () => {
      const { output, ended } = await pipe('echo first; echo last >&2; exit 3', null);
      await aWhile();
      const taking = output[Symbol.asyncIterator]();
      await taking.next();
      await aWhile();
      assert.equal((await taking.next()).done, true);
      assert.deepEqual(await ended, { exitCode: 3, complaint: 'last\n' });
    });

    it('leaves its input alone when the program has had enough', async () => {
      const input = new Pieces();
      const { output, ended } = await pipe('head -c 5 | wc -c', input);
      assert.equal((await whole(output)).toString().trim(), '5');
      assert.equal((await ended).exitCode, 0);
      await until('it is left', () => input.left);
    });

    it('goes on with a program that has closed its input', async () => {
      const input = new Pieces();
      const { output, ended } = await pipe('exec <&-; sleep 0.2; echo done', input);
      assert.equal((await whole(output)).toString(), 'done\n');
      assert.equal((await ended).exitCode, 0);
    });

    it('ends the program, with all it started, when its reader leaves', async () => {
      const { output, ended } = await pipe('sleep 7601 & cat /dev/zero', null);
      for await (const bytes of output) {
        assert.ok(bytes.length > 0);
        break;
      }
      await assert.rejects(ended, /nobody read/);
      await until('it is gone', () => !isThere('sleep 7601'));
    });

    it('ends the program, with all it started, when its asker gives up', async () => {
      const over = new AbortController();
      const script = 'setsid sleep 7701 & trap "" TERM HUP PIPE; cat; sleep 7702';
      const { output, ended } = await pipe(script, new Pieces(), over.signal);
      const reading = assert.rejects(
        (async () => {
          let bytes = 0;
          for await (const chunk of output) {
            bytes += chunk.length;
            if (bytes > 4 * mebibyte) over.abort(new Error('enough'));
          }
        })(),
        /enough/,
      );
      await reading;
      await assert.rejects(ended, /enough/);
      await until('it is gone', () => !isThere('sleep 770'));
    });

    it('never takes input that broke off for input at its end', async () => {
      const input = failing(Buffer.from('half'), new Error('torn'));
      const { output, ended } = await pipe('cat; echo whole; sleep 7801', input);
      const said: string[] = [];
      await assert.rejects(async () => {
        for await (const bytes of output) said.push(Buffer.from(bytes).toString());
      }, /torn/);
      assert.doesNotMatch(said.join(''), /whole/);
      await assert.rejects(ended, /torn/);
      await until('it is gone', () => !isThere('sleep 7801'));
    });

    it('says that a workload does not run, or that there is no such program', async () => {
      const spec = { command: sh('echo hi'), env: {} };
      await assert.rejects(driver.pipe('never-1', spec, null, never), { code: 'NOT_RUNNING' });
      const none = { command: ['/no/such/program'], env: {} };
      const refused = driver.pipe(host, none, null, never).then(async ({ output, ended }) => {
        await whole(output);
        return (await ended).exitCode;
      });
      // A driver knows it at once, or by how the start in its place ends.
      const seen = await refused.catch((error: unknown) => (error as { code?: unknown }).code);
      assert.ok([126, 127, 'BAD_USER_INPUT'].includes(seen as number), String(seen));
    });

    it('is ended with its workload', async () => {
      const spec = place.specOf({ id: 'short-1', kind: 'service', command: sh('exec sleep 7900') });
      await driver.start({ ...spec, stopGraceMs: 200 });
      await until(
        'it runs',
        async () => (await driver.inspect('short-1'))?.state.phase === 'running',
      );
      const command = sh('echo up; sleep 7901');
      const { output, ended } = await driver.pipe('short-1', { command, env: {} }, null, never);
      const taking = output[Symbol.asyncIterator]();
      await taking.next();
      await driver.remove('short-1');
      assert.equal((await taking.next()).done, true);
      assert.notEqual((await ended).exitCode, 0);
      assert.equal(isThere('sleep 790'), false);
    });
  });
}
