/**
 * Owns what every driver promises, as tests: `run` them for each. They run side by side, as most of them
 * wait for programs to start and to end: each has workloads of its own.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Driver } from '../../src/drivers/driver.ts';
import type { LogEntry, WorkloadSpec } from '../../src/protocol/workload.ts';
import {
  assertAscending,
  ended,
  readAll,
  readSome,
  running,
  sh,
  textOf,
  until,
} from '../support/driver-specs.ts';
import type { SpecOverrides } from '../support/driver-specs.ts';
import { jobs, services } from './driver-services.suite.ts';
import { collectGarbage } from '../support/garbage.ts';

export interface DriverPlace {
  driver: Driver;
  /** Another client of the same place, as after a restart of Gangway. */
  reopen(): Promise<Driver>;
  /** A workload in which there are a shell, the usual programs and Node. */
  specOf(overrides: SpecOverrides): WorkloadSpec;
  /** Where Node is in it. */
  node: string;
  /** Names of the variables a program has besides its own. */
  variables: readonly string[];
  /** Lets go of everything, also of what runs. */
  close(): Promise<void>;
}

/** Ends of lines: a line that came in two parts is two entries. */
function endsIn(entries: readonly LogEntry[]): number {
  return entries.filter(({ bytes }) => bytes.at(-1) === 10).length;
}

/** Tests of a group; not where another client is opened, which removes networks that nobody is in yet. */
const atATime = 5;

export function run(name: string, create: () => Promise<DriverPlace>): void {
  describe(`${name} as a driver`, () => {
    let place: DriverPlace;
    let driver: Driver;
    let listedAtFirst: readonly unknown[];
    before(async () => {
      place = await create();
      driver = place.driver;
      listedAtFirst = await driver.list();
    });
    after(() => place.close());

    const specOf = (overrides: SpecOverrides): WorkloadSpec => place.specOf(overrides);
    const js = (script: string): readonly string[] => [place.node, '-e', script];
    /** An image keeps to itself what a host shows, and Docker keeps logs in lines. */
    const inImage = (): boolean => driver.runs === 'image';

    describe('start()', { concurrency: atATime }, () => {
      it('knows nothing before the first start', async () => {
        assert.deepEqual(listedAtFirst, []);
        assert.equal(await driver.inspect('never-1'), undefined);
      });

      it('runs a job once, however often it is asked', async () => {
        const spec = specOf({ id: 'once-1', command: sh('echo ran; exit 7') });
        await Promise.all([driver.start(spec), driver.start(spec), driver.start(spec)]);
        assert.equal(textOf(await readAll(driver, 'once-1')), 'ran\n');
        const again = await driver.start(spec);
        assert.equal(again.state.phase, 'ended');
        assert.equal(textOf(await readAll(driver, 'once-1')), 'ran\n');
      });

      it('tells the exit code of a job', async () => {
        await driver.start(specOf({ id: 'code-1', command: sh('exit 42') }));
        const { exit } = (await ended(driver, 'code-1')).state;
        assert.deepEqual([exit.code, exit.signal, exit.reason], [42, null, 'exited']);
      });

      it('tells the signal that ended a job', async () => {
        await driver.start(specOf({ id: 'signal-1', command: sh('kill -9 $$') }));
        const { exit } = (await ended(driver, 'signal-1')).state;
        assert.deepEqual([exit.code, exit.signal, exit.reason], [null, 'SIGKILL', 'exited']);
      });

      it('says why a program could not be started', async () => {
        await driver.start(specOf({ id: 'nope-1', command: ['/no/such/program'] }));
        const { exit } = (await ended(driver, 'nope-1')).state;
        assert.equal(exit.reason, 'failed_to_start');
        assert.match(exit.detail ?? '', /no such program/);
        await driver.start(specOf({ id: 'nope-2', command: ['/etc/passwd'], kind: 'service' }));
        const denied = (await ended(driver, 'nope-2')).state.exit;
        assert.equal(denied.reason, 'failed_to_start');
        assert.match(denied.detail ?? '', /not executable/);
        const nowhere = specOf({ id: 'nope-3', command: sh('pwd'), workingDir: '/no/such/dir' });
        await driver.start(nowhere);
        const { detail } = (await ended(driver, 'nope-3')).state.exit;
        // In an image it is made: what is written there goes with the container.
        if (inImage()) assert.equal(textOf(await readAll(driver, 'nope-3')), '/no/such/dir\n');
        else assert.match(detail ?? '', /working folder/);
      });

      it('refuses an id that is none', async () => {
        await assert.rejects(driver.start(specOf({ id: '../x', command: sh('true') })), {
          code: 'BAD_USER_INPUT',
        });
      });

      it('lets a program open its output again by name', async () => {
        const command = sh('echo out > /dev/stdout; echo err > /dev/stderr; cat /dev/stdin');
        await driver.start(specOf({ id: 'reopen-1', command }));
        const entries = await readAll(driver, 'reopen-1');
        assert.equal(textOf(entries, 'stdout'), 'out\n');
        assert.equal(textOf(entries, 'stderr'), 'err\n');
      });

      it('gives the program its own variables and no others', async () => {
        process.env['GANGWAY_TEST_SECRET'] = 'leak';
        const env = { PATH: '/usr/bin:/bin', MINE: 'yes' };
        await driver.start(specOf({ id: 'env-1', command: ['/usr/bin/env'], env }));
        const names = textOf(await readAll(driver, 'env-1'))
          .trim()
          .split('\n')
          .map((line) => line.split('=')[0]);
        assert.deepEqual(names.sort(), ['MINE', 'PATH', ...place.variables].sort());
      });

      it('leaves no descriptor open in the program but its standard ones', async () => {
        const command = js(`console.log(require('fs').readlinkSync('/proc/self/fd/0'));
          require('child_process').execFileSync('ls', ['/proc/self/fd'], { stdio: 'inherit' })`);
        await driver.start(specOf({ id: 'fds-1', command }));
        const [input, ...fds] = textOf(await readAll(driver, 'fds-1'))
          .trim()
          .split('\n');
        assert.equal(input, '/dev/null');
        // The fourth is the folder that ls itself reads.
        assert.deepEqual(fds, ['0', '1', '2', '3']);
      });
    });

    describe('follow()', { concurrency: atATime }, () => {
      it('delivers a burst of 5,000 lines completely and in order', async () => {
        const command = js(`for (let i = 1; i <= 5000; i++) console.log('line ' + i)`);
        await driver.start(specOf({ id: 'burst-1', command }));
        const entries = await readAll(driver, 'burst-1');
        assertAscending(entries);
        assert.deepEqual(textOf(entries).split('\n'), [
          ...Array.from({ length: 5000 }, (_, i) => `line ${String(i + 1)}`),
          '',
        ]);
        assert.ok(entries.every((entry) => entry.bytes.at(-1) === 10));
      });

      it('keeps the two streams apart and bytes as they are', async () => {
        const command = js(`process.stdout.write(Buffer.from([0, 255, 254, 10, 128, 10]));
          process.stderr.write('oops\\n')`);
        await driver.start(specOf({ id: 'binary-1', command }));
        const entries = await readAll(driver, 'binary-1');
        const out = Buffer.concat(
          entries.filter((entry) => entry.stream === 'stdout').map((entry) => entry.bytes),
        );
        assert.deepEqual([...out], [0, 255, 254, 10, 128, 10]);
        assert.equal(textOf(entries, 'stderr'), 'oops\n');
      });

      it('delivers a line without an end while the program runs', async (test) => {
        if (inImage()) {
          test.diagnostic('Docker keeps a line to itself until it is whole, or its program ends');
        }
        const prompt = inImage() ? 'printf "name?\\n"' : 'printf "name? "';
        const command = sh(`${prompt}; sleep 1000`);
        await driver.start(specOf({ id: 'prompt-1', command, kind: 'service' }));
        const seen: LogEntry[] = [];
        const enough = new AbortController();
        await driver.follow(
          'prompt-1',
          0,
          (entries) => {
            seen.push(...entries);
            enough.abort();
          },
          enough.signal,
        );
        assert.match(textOf(seen), /^name\?[ \n]$/);
        await driver.remove('prompt-1');
      });

      it('delivers a line without an end when the program ends', async () => {
        await driver.start(specOf({ id: 'tail-1', command: sh('printf "a\\nlast"') }));
        assert.equal(textOf(await readAll(driver, 'tail-1')), 'a\nlast');
      });

      it('cuts a line of 1 MB into entries of 16 KiB at most', async () => {
        const command = js(`process.stdout.write('ä'.repeat(500_000) + '\\n')`);
        await driver.start(specOf({ id: 'long-1', command }));
        const entries = await readAll(driver, 'long-1');
        assert.equal(textOf(entries), `${'ä'.repeat(500_000)}\n`);
        assert.ok(entries.every((entry) => entry.bytes.length <= 16 * 1024));
        assertAscending(entries);
      });

      it('goes on behind an entry', async () => {
        await driver.start(
          specOf({ id: 'resume-1', command: sh('for i in 1 2 3 4 5; do echo $i; done') }),
        );
        await ended(driver, 'resume-1');
        const rest = await readAll(driver, 'resume-1', 3);
        assertAscending(rest, 4);
        assert.equal(textOf(rest), '4\n5\n');
      });

      it('waits for a slow sink and loses nothing to it', async () => {
        const command = js(`for (let i = 0; i < 20000; i++) console.log('x'.repeat(60) + i)`);
        await driver.start(specOf({ id: 'slow-1', command }));
        let lines = 0;
        let under = 0;
        await driver.follow(
          'slow-1',
          0,
          async (entries) => {
            assert.equal(++under, 1);
            await new Promise((resolve) => setImmediate(resolve));
            lines += endsIn(entries);
            under--;
          },
          new AbortController().signal,
        );
        assert.equal(lines, 20_000);
      });

      it('holds nothing that the sink has taken while it goes on', async () => {
        const command = js(`for (let i = 0; i < 20000; i++) console.log('x'.repeat(60) + i);
          setInterval(() => {}, 1000)`);
        await driver.start(specOf({ id: 'kept-1', command, kind: 'service' }));
        const taken = new Set<WeakRef<ArrayBufferLike>>();
        let lines = 0;
        const enough = new AbortController();
        const following = driver.follow(
          'kept-1',
          0,
          (entries) => {
            lines += endsIn(entries);
            for (const { bytes } of entries.slice(0, 1)) taken.add(new WeakRef(bytes.buffer));
          },
          enough.signal,
        );
        await until('all lines', () => lines === 20_000);
        const held = (): number => [...taken].filter((one) => one.deref() !== undefined).length;
        await until('most of it is collected', () => {
          collectGarbage();
          return held() <= taken.size / 2;
        });
        enough.abort();
        await following;
        await driver.remove('kept-1');
      });

      it('ends for a service when it is stopped, not when it restarts', async () => {
        await driver.start(
          specOf({
            id: 'service-log-1',
            command: sh('echo up; sleep 0.1; exit 1'),
            kind: 'service',
          }),
        );
        let text = '';
        const following = driver.follow(
          'service-log-1',
          0,
          (entries) => {
            text += textOf(entries);
          },
          new AbortController().signal,
        );
        await until('a second start', () => text.split('up').length > 2);
        await driver.stop('service-log-1');
        await following;
      });
    });

    describe('stop()', { concurrency: atATime }, () => {
      it('ends every descendant, also one that left the session', async () => {
        const command = sh(`setsid sleep 98761 & setsid sh -c 'sleep 98762 & sleep 98763' &
          (trap '' TERM; sleep 98764) & wait`);
        await driver.start(specOf({ id: 'family-1', command, kind: 'service', stopGraceMs: 200 }));
        await until('all of it runs', () => running('sleep 9876').length === 4);
        await driver.stop('family-1');
        assert.deepEqual(running('sleep 9876'), []);
        const { exit } = (await ended(driver, 'family-1')).state;
        assert.equal(exit.reason, 'stopped');
      });

      it('lets a program end in its own way within the grace', async () => {
        const command = js(`process.on('SIGTERM', () => { console.log('bye'); process.exit(0) });
          setInterval(() => {}, 1000); console.log('up')`);
        await driver.start(
          specOf({ id: 'polite-1', command, kind: 'service', stopGraceMs: 10_000 }),
        );
        await until('the start', async () => textOf(await readSome(driver, 'polite-1')) !== '');
        await driver.stop('polite-1');
        assert.equal(textOf(await readAll(driver, 'polite-1')), 'up\nbye\n');
        const { exit } = (await ended(driver, 'polite-1')).state;
        assert.deepEqual([exit.code, exit.reason], [0, 'stopped']);
      });

      it('converges against a program that forks without end', async () => {
        const command = sh(
          `f() { while :; do sleep 98771 & sleep 0.02; done; }; trap '' TERM; f & f & f`,
        );
        await driver.start(specOf({ id: 'forks-1', command, kind: 'service', stopGraceMs: 300 }));
        await until('some forks', () => running('sleep 98771').length > 10);
        await driver.stop('forks-1');
        assert.deepEqual(running('sleep 98771'), []);
      });

      it('succeeds for what is gone or never was', async () => {
        await driver.start(specOf({ id: 'gone-1', command: sh('sleep 1000'), kind: 'service' }));
        await driver.stop('gone-1');
        await driver.stop('gone-1');
        await driver.stop('never-1');
        await driver.remove('gone-1');
        await driver.remove('gone-1');
        assert.equal(await driver.inspect('gone-1'), undefined);
        await assert.rejects(readAll(driver, 'gone-1'), { code: 'NOT_FOUND' });
      });
    });

    services(() => place);
    jobs(() => place);

    describe('probe()', { concurrency: atATime }, () => {
      const listenOn = (port: number): readonly string[] =>
        js(`require('http').createServer().listen(${String(port)}, () => console.log('up')); `);
      const begin = async (id: string, port: number, command: readonly string[]): Promise<void> => {
        await driver.start(specOf({ id, command, kind: 'service', port }));
      };

      it('tells its own listener from silence and from a stranger', async () => {
        const port = await driver.freePort();
        assert.notEqual(await driver.freePort(), port);
        await begin('probe-1', port, sh('sleep 1000'));
        assert.equal(await driver.probe('probe-1'), 'silent');
        if (inImage()) {
          // The port belongs to who is reached at it, whether or not something listens behind it.
          await begin('probe-2', port, listenOn(port));
          const { exit } = (await ended(driver, 'probe-2')).state;
          assert.match(exit.detail ?? '', /already in use/);
          assert.equal(await driver.probe('probe-2'), 'foreign');
          assert.equal(await driver.probe('probe-1'), 'silent');
          await driver.remove('probe-1');
          await driver.remove('probe-2');
        }
        await begin('probe-2', port, listenOn(port));
        await until('a listener', async () => (await driver.probe('probe-2')) === 'listening');
        // In a network of its own nobody else listens.
        const own = (await driver.inspect('probe-1'))?.address !== undefined;
        if (!inImage()) assert.equal(await driver.probe('probe-1'), own ? 'silent' : 'foreign');
        assert.equal(await driver.probe('never-1'), 'silent');
        await driver.remove('probe-1');
        await driver.remove('probe-2');
      });

      it('counts a listener of a child', async () => {
        const port = await driver.freePort();
        // On the loopback of a container nobody outside reaches it.
        const host = inImage() ? '0.0.0.0' : '127.0.0.1';
        const child = `setsid '${place.node}' -e "require('net').createServer().listen(${String(port)}, '${host}')" & wait`;
        await begin('probe-3', port, sh(child));
        await until('a listener', async () => (await driver.probe('probe-3')) === 'listening');
        await driver.remove('probe-3');
      });
    });

    describe('another client', () => {
      it('finds what runs, with its whole log', async () => {
        const command = sh('echo one; sleep 1000');
        await driver.start(specOf({ id: 'found-1', command, kind: 'service' }));
        await until('a line', async () => textOf(await readSome(driver, 'found-1')) !== '');
        const other = await place.reopen();
        try {
          const states = new Map((await other.list()).map((found) => [found.spec.id, found.state]));
          assert.equal(states.get('found-1')?.phase, 'running');
          const text = async () => textOf(await readSome(other, 'found-1'));
          assert.equal(await until('its log', async () => (await text()) || undefined), 'one\n');
          const told: string[] = [];
          driver.watch((event) => {
            if (event.type === 'state') told.push(event.workload.state.phase);
          });
          await other.stop('found-1');
          await until('the event', () => told.includes('ended'));
        } finally {
          await other.close();
        }
      });
    });
  });
}
