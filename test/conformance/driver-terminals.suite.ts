/**
 * Owns what every driver promises of terminals and commands, as tests: `run` them for each. They run side
 * by side, nearly all in the same workload.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import type { Driver, Terminal } from '../../src/drivers/driver.ts';
import type { ExecOutcome, WorkloadSpec } from '../../src/protocol/workload.ts';
import { give, mark, running, sh, until } from '../support/driver-specs.ts';

export interface TerminalPlace {
  driver: Driver;
  /** A workload in which there are `sh`, `stty`, `cat`, `sleep`, `head` and `tr`. */
  specOf(overrides: Pick<WorkloadSpec, 'id' | 'command'> & Partial<WorkloadSpec>): WorkloadSpec;
  close(): Promise<void>;
}

const never = new AbortController().signal;

/** A terminal with what it told. */
class Opened {
  readonly exits: { code: number | null; lost: boolean }[] = [];
  readonly chunks: Buffer[] = [];
  bytes = 0;
  terminal: Terminal | undefined;
  /** Keep none of it. */
  counting = false;

  static async open(
    driver: Driver,
    id: string,
    command: readonly string[] = ['/bin/sh'],
    env: Record<string, string> = {},
  ): Promise<Opened> {
    const opened = new Opened();
    const spec = { command, cols: 80, rows: 24, env: { PS1: '$ ', ...env } };
    opened.terminal = await driver.openTerminal(id, spec, {
      output: (bytes) => {
        assert.deepEqual(opened.exits, [], 'nothing comes after the exit');
        opened.bytes += bytes.length;
        if (!opened.counting) opened.chunks.push(Buffer.from(bytes));
      },
      exit: (exit) => {
        opened.exits.push(exit);
      },
    });
    return opened;
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString();
  }

  get open(): Terminal {
    assert.ok(this.terminal);
    return this.terminal;
  }

  type(text: string): void {
    this.open.write(Buffer.from(text));
  }

  async sees(text: string | RegExp): Promise<void> {
    const found = (): boolean =>
      typeof text === 'string' ? this.text.includes(text) : text.test(this.text);
    await until(String(text), found).catch((error: unknown) => {
      throw new Error(`It shows ${JSON.stringify(this.text.slice(-300))}`, { cause: error });
    });
  }

  async ended(): Promise<{ code: number | null; lost: boolean }> {
    return await until('its end', () => this.exits[0]);
  }
}

/** Groups of tests, and tests of each of them. */
const atATime = 3;
/** The workload that they share. */
const host = 'host-1';

export function run(name: string, create: () => Promise<TerminalPlace>): void {
  describe(`${name} with terminals`, { concurrency: atATime }, () => {
    let place: TerminalPlace;
    let driver: Driver;

    before(async () => {
      place = await create();
      driver = place.driver;
      await serve(host, { OWN: 'of the workload', OTHER: 'kept' });
    });
    after(() => place.close());

    const serve = async (id: string, env: Record<string, string> = {}): Promise<void> => {
      const spec = place.specOf({ id, kind: 'service', command: sh('exec sleep 100000') });
      await driver.start({ ...spec, env: { ...spec.env, ...env }, stopGraceMs: 500 });
      await until(`${id} runs`, async () => (await driver.inspect(id))?.state.phase === 'running');
    };
    const exec = (script: string, more: object = {}, id = host): Promise<ExecOutcome> => {
      const bounds = { timeoutMs: 20_000, maxBytes: 65_536 };
      return driver.exec(id, { command: sh(script), env: {}, ...bounds, ...more }, never);
    };
    const isThere = (text: string): boolean => running(text).length > 0;

    describe('openTerminal()', () => {
      it('runs a shell that echoes what is typed and answers it', async () => {
        const shell = await Opened.open(driver, host, []);
        shell.type('echo so-$((40 + 2))\r');
        await shell.sees('so-42');
        assert.match(shell.text, /echo so-\$\(\(40 \+ 2\)\)/);
        shell.open.close();
        await shell.ended();
      });

      it('is the controlling terminal, with variables of the workload and its own', async () => {
        const shell = await Opened.open(driver, host, ['/bin/sh'], { OWN: 'of the terminal' });
        shell.type('echo "[$OWN|$OTHER|$TERM]"; echo by-name > /dev/tty\r');
        await shell.sees('[of the terminal|kept|xterm-256color]');
        await shell.sees(/[^>] ?by-name|\nby-name/);
        shell.type(`sh -c 'echo foreground-$((1 + 1)); exec sleep 1000'\r`);
        await shell.sees('foreground-2');
        // A key that means the whole foreground works only on a controlling terminal. It is pressed
        // once: a second one would reach the shell, which then drops what it has just read.
        shell.type('\u0003echo after-$((1 + 1))\r');
        await shell.sees('after-2');
        shell.open.close();
      });

      it('has the size it is given, and the one it is changed to', async () => {
        const shell = await Opened.open(driver, host);
        shell.type('stty size\r');
        await shell.sees('24 80');
        shell.open.resize(133, 55);
        shell.type('stty size\r');
        await shell.sees('55 133');
        shell.open.resize(1000, 1000);
        shell.type('stty size\r');
        await shell.sees('1000 1000');
        shell.open.close();
      });

      it('carries bytes of any kind unchanged', async () => {
        const raw = 'stty raw -echo; echo ready; exec head -c 512';
        const shell = await Opened.open(driver, host, sh(raw));
        await shell.sees('ready');
        const from = shell.bytes - (Buffer.concat(shell.chunks).indexOf('ready') + 5);
        const sent = Buffer.from(Array.from({ length: 512 }, (_, at) => at % 256));
        shell.open.write(sent);
        await shell.ended();
        const all = Buffer.concat(shell.chunks);
        const start = all.indexOf('ready') + 5;
        assert.ok(from >= 0);
        // The line end of `ready` may come as one character or two.
        const got = all.subarray(start + (all[start] === 13 ? 2 : 1));
        assert.deepEqual(got, sent);
      });

      it('tells the exit code when the program ends, after all its output', async () => {
        const shell = await Opened.open(driver, host, sh('echo last words; exit 7'));
        assert.deepEqual(await shell.ended(), { code: 7, lost: false });
        assert.match(shell.text, /last words/);
        shell.type('nobody reads this\r');
        shell.open.resize(10, 10);
        shell.open.close();
        assert.equal(shell.exits.length, 1);
      });

      it('ends the program and what it started when it is closed', async () => {
        const script = 'sleep 7101 & nohup sleep 7102 >/dev/null 2>&1 & trap "" HUP; sleep 7103';
        const shell = await Opened.open(driver, host, sh(`${script}; sleep 7104`));
        const all = ['sleep 7101', 'sleep 7102', 'sleep 7103'];
        await until('all of it runs', () => all.every(isThere));
        shell.open.close();
        await shell.ended();
        await until('none of it runs', () => !isThere('sleep 710'));
      });

      it('ends with its workload', async () => {
        await serve('stop-1');
        const shell = await Opened.open(driver, 'stop-1', sh('trap "" HUP TERM; sleep 1000'));
        await driver.stop('stop-1');
        assert.equal((await shell.ended()).lost, false);
      });

      it('waits with a flood while it is paused, and loses nothing of it', async () => {
        const size = 4 * 1024 * 1024;
        const script = `stty raw; head -c ${String(size)} /dev/zero | tr '\\0' x; printf END`;
        const shell = await Opened.open(driver, host, sh(script));
        shell.open.pause();
        let seen = -1;
        await until('it stands still', async () => {
          const before = seen;
          seen = shell.bytes;
          await new Promise((resolve) => setTimeout(resolve, 100));
          return before === shell.bytes;
        });
        assert.ok(shell.bytes < size / 2, `${String(shell.bytes)} bytes came while it was paused`);
        assert.deepEqual(shell.exits, []);
        shell.open.resume();
        await until('some of it', () => shell.bytes > size / 4);
        shell.open.pause();
        shell.open.resume();
        assert.equal((await shell.ended()).code, 0);
        const all = Buffer.concat(shell.chunks);
        assert.equal(all.filter((byte) => byte === 0x78).length, size);
        assert.equal(all.subarray(-3).toString(), 'END');
      });

      it('keeps the last output of a program that ends while it is paused', async () => {
        const sign = `/tmp/gangway-${mark}-last`;
        const script = `until rm ${sign} 2>/dev/null; do sleep 0.05; done; printf "the end"; exit 3`;
        const shell = await Opened.open(driver, host, ['/bin/sh', '-c', script, mark]);
        shell.open.pause();
        await until('it runs', () => isThere('/bin/sh -c until'));
        await give(driver, host, sign);
        await until('it ended', () => !isThere('/bin/sh -c until'));
        await new Promise((resolve) => setTimeout(resolve, 500));
        shell.open.resume();
        assert.equal((await shell.ended()).code, 3);
        assert.match(shell.text, /the end/);
      });

      it('says how much input waits for a program that does not read', async () => {
        const sign = `/tmp/gangway-${mark}-read`;
        const shell = await Opened.open(
          driver,
          host,
          sh(`stty raw; echo ready; until rm ${sign} 2>/dev/null; do sleep 0.05; done; exec cat`),
        );
        await shell.sees('ready');
        // More than the kernel and a daemon keep between us and the terminal.
        const sent = Buffer.alloc(1_000_000, 'y');
        shell.open.write(sent);
        assert.ok(shell.open.unwritten > 100_000);
        await give(driver, host, sign);
        await until('all of it is taken', () => shell.open.unwritten === 0);
        await until('all of it came back', () => shell.bytes >= sent.length);
        shell.open.close();
      });

      it('is refused where nothing runs', async () => {
        const spec = { command: [], cols: 80, rows: 24, env: {} };
        const events = { output: () => undefined, exit: () => undefined };
        await assert.rejects(driver.openTerminal('never-there', spec, events), {
          code: 'NOT_RUNNING',
        });
        const ended = place.specOf({ id: 'ended-1', command: sh('exit 0') });
        await driver.start(ended);
        await until('its end', async () => {
          return (await driver.inspect('ended-1'))?.state.phase === 'ended';
        });
        await assert.rejects(driver.openTerminal('ended-1', spec, events), { code: 'NOT_RUNNING' });
        await assert.rejects(exec('echo hi', {}, 'ended-1'), { code: 'NOT_RUNNING' });
      });

      it('keeps many apart', async () => {
        const all = await Promise.all(
          Array.from({ length: 20 }, () => Opened.open(driver, host, ['/bin/cat'])),
        );
        for (const [at, one] of all.entries()) one.type(`only ${String(at)}.\r`);
        for (const [at, one] of all.entries()) {
          await one.sees(`only ${String(at)}.`);
          assert.doesNotMatch(one.text, new RegExp(`only (?!${String(at)}\\.)\\d+\\.`));
        }
        for (const one of all) one.open.close();
        await Promise.all(all.map((one) => one.ended()));
      });
    });

    describe('exec()', () => {
      it('gives both outputs in their order, and the exit code', async () => {
        const script = 'echo one; echo two >&2; echo three; echo $OTHER$MORE; exit 9';
        const outcome = await exec(script, { env: { MORE: '!' } });
        assert.equal(Buffer.from(outcome.output).toString(), 'one\ntwo\nthree\nkept!\n');
        assert.equal(outcome.exitCode, 9);
        assert.equal(outcome.truncated, false);
      });

      it('keeps no more output than it was asked for', async () => {
        const script = 'head -c 300000 /dev/zero | tr "\\0" z; exit 4';
        const outcome = await exec(script, { maxBytes: 1000 });
        assert.equal(outcome.output.length, 1000);
        assert.equal(outcome.truncated, true);
        assert.equal(outcome.exitCode, 4);
        const exactly = await exec('printf 12345', { maxBytes: 5 });
        assert.equal(exactly.truncated, false);
      });

      it('ends what takes too long, with all it started', async () => {
        const script = 'echo begun; sleep 7201 & trap "" TERM HUP; sleep 7202; sleep 7203';
        let output = '';
        // The machine says how long it takes to begin: it is given more and more.
        for (let timeoutMs = 1000; output === '' && timeoutMs < 40_000; timeoutMs *= 2) {
          const outcome = await exec(script, { timeoutMs });
          assert.equal(outcome.exitCode, 124);
          assert.equal(isThere('sleep 720'), false);
          output = Buffer.from(outcome.output).toString();
        }
        assert.equal(output, 'begun\n');
      });

      it('ends what its asker gives up', async () => {
        const given = new AbortController();
        const command = sh('sleep 7301; sleep 7302');
        const bounds = { env: {}, timeoutMs: 60_000, maxBytes: 100 };
        const asked = driver.exec(host, { command, ...bounds }, given.signal).then(
          () => 'done',
          () => 'refused',
        );
        await until('it runs', () => isThere('sleep 7301'));
        given.abort();
        await asked;
        await until('it is gone', () => !isThere('sleep 730'));
      });

      it('tells of a signal as shells do, and reads nothing from anybody', async () => {
        assert.equal((await exec('kill -9 $$')).exitCode, 137);
        const read = await exec('cat; echo end');
        assert.equal(Buffer.from(read.output).toString(), 'end\n');
      });
    });
  });
}
