/** What a run of tests does where files hang, fail, or lack a program: seen from outside. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../../support/eventually.ts';
import { childrenOf, processesOf, signal } from '../../support/processes.ts';

const runner = fileURLToPath(new URL('../../runner/run.ts', import.meta.url));
const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../fixtures/runs/${name}.ts`, import.meta.url));

interface Ended {
  code: number | null;
  text: string;
}

describe('a run of tests', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gangway-runs-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  function start(
    names: readonly string[],
    env: Record<string, string> = {},
    args: readonly string[] = [],
  ): ChildProcess {
    const own = Object.entries(process.env).filter(
      ([name]) => !/^(GANGWAY_TESTS|NODE_TEST)/.test(name),
    );
    const files = names.map(fixture);
    const flags = ['--disable-warning=ExperimentalWarning', runner, ...args, ...files];
    return spawn(process.execPath, flags, {
      env: { ...Object.fromEntries(own), TMPDIR: folder, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  async function run(...given: Parameters<typeof start>): Promise<Ended> {
    const child = start(...given);
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (more: string) => {
        text += more;
      });
    }
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { code, text };
  }

  const assertNothingLeft = (): void => {
    assert.deepEqual(processesOf(folder), []);
    assert.deepEqual(readdirSync(folder), []);
  };
  const closing = (counts: string): RegExp =>
    new RegExp(
      `^# tests ${counts.replaceAll(' ', '\\n# [a-z]+ ')}\\n# duration_ms [\\d.]+\\n$`,
      'm',
    );

  it('ends where a suite opened something and failed, and ends what that was', async () => {
    const { code, text } = await run(['hangs'], { GANGWAY_TESTS_LIMIT_MS: '15000' });
    assert.equal(code, 1);
    assert.match(text, /there is no browser/);
    assert.match(text, /Its tests have ended, it has not; what is open: .*TCPServerWrap/);
    assert.match(text, /^# Failed: test\/fixtures\/runs\/hangs\.ts\. All it said:$/m);
    assertNothingLeft();
  });

  it('cuts a hook that never ends, and a file whose test never does', async () => {
    const { code, text } = await run(['waits'], { GANGWAY_TESTS_LIMIT_MS: '3000' });
    assert.equal(code, 1);
    assert.match(text, /what the hook opened is ended/);
    assert.match(text, /Cut after 3000 ms, .*: a test that never ends > waits$/m);
    assert.match(text.slice(text.indexOf('# Failed: ')), /said before it waits/);
    assertNothingLeft();
  });

  it('cuts a file that cannot be told to end', async () => {
    const { code, text } = await run(['spins'], { GANGWAY_TESTS_LIMIT_MS: '500' });
    assert.equal(code, 1);
    assert.match(text, /spins\.ts/);
    assertNothingLeft();
  });

  it('is good without what a machine lacks, and lists what was not tried', async () => {
    const { code, text } = await run(['needs'], { GANGWAY_TESTS_HIDE: 'all' });
    assert.equal(code, 0, text);
    const list = [
      '# 4 tests not tried; `npm run setup:tests` installs what they need, or says how to get it:',
      '#   needs chromium: 3 tests',
      '#     test/fixtures/runs/needs.ts, a browser: 3 tests',
      '#   needs zip, unzip: 1 test',
      '#     test/fixtures/runs/needs.ts, archives: 1 test',
    ];
    assert.ok(text.includes(`${list.join('\n')}\n# tests 5\n`), text);
    assert.match(text, closing('5 3 1 0 0 4 0'));
  });

  it('is not good where nothing may be skipped, and says why', async () => {
    const env = { GANGWAY_TESTS_HIDE: 'zip', GANGWAY_TESTS_SKIP_NOTHING: '1' };
    const { code, text } = await run(['needs'], env);
    assert.equal(code, 1);
    assert.match(text, /Nothing may be skipped here: it needs (chromium|zip)/);
  });

  it('runs files that wait for daemons beside the others, and tells of each in one piece', async () => {
    const names = ['meets', 'docker-meets'];
    const { code, text } = await run(names, {}, ['--concurrency=2']);
    for (const name of names) rmSync(join(folder, name));
    assert.equal(code, 0, text);
    const told = text.split('\n').filter((line) => line.includes(' - ') || line.startsWith('1..'));
    const [one, other] = told[1]?.includes('docker')
      ? ['docker-meets', 'meets']
      : ['meets', 'docker-meets'];
    assert.deepEqual(told, [
      `    ok 1 - meets the other`,
      `ok 1 - ${one}`,
      `    ok 1 - meets the other`,
      `ok 2 - ${other}`,
      '1..2',
    ]);
    assert.match(text, closing('2 2 2 0 0 0 0'));
    assertNothingLeft();
  });

  it('runs what failed once more, alone, where that is wanted, and names what passes then', async () => {
    const once = await run(['falters', 'fails']);
    rmSync(join(folder, 'faltered'));
    assert.equal(once.code, 1);
    assert.match(once.text, closing('2 0 0 2 0 0 0'));
    const good = await run(['falters', 'needs'], { GANGWAY_TESTS_HIDE: 'all' }, ['--again']);
    rmSync(join(folder, 'faltered'));
    assert.equal(good.code, 0, good.text);
    assert.match(
      good.text,
      /^# Passed only alone: test\/fixtures\/runs\/falters\.ts\. All it said beside others:\n#   TAP[^]* error: .it was too late.$/m,
    );
    assert.match(good.text, closing('6 3 2 0 0 4 0'));
    const bad = await run(['falters', 'fails'], {}, ['--again']);
    rmSync(join(folder, 'faltered'));
    assert.equal(bad.code, 1, bad.text);
    const told = bad.text.match(/^# (Failed|Passed).*$/gm);
    assert.deepEqual(told, [
      '# Failed: test/fixtures/runs/fails.ts. All it said:',
      '# Failed, again and alone: test/fixtures/runs/fails.ts. All it said:',
      '# Passed only alone: test/fixtures/runs/falters.ts. All it said beside others:',
    ]);
    assert.equal(bad.text.match(/^#   .*error: .it is broken.$/gm)?.length, 2);
    assert.match(bad.text, closing('2 0 1 1 0 0 0'));
    assertNothingLeft();
  });

  it('ends what runs when it is told to end, or killed', async () => {
    for (const name of ['SIGTERM', 'SIGKILL'] as const) {
      const child = start(['waits']);
      await eventually('a file runs', () => childrenOf(child.pid ?? 0).length > 1);
      // Beside that of the run.
      await eventually('it has its folder', () => readdirSync(folder).length > 1);
      const ended = new Promise((resolve) => child.once('close', resolve));
      signal(child.pid ?? 0, name);
      await ended;
      await eventually('nothing of it runs', () => processesOf(folder).length === 0);
      await eventually('its folder is gone', () => readdirSync(folder).length === 0);
    }
  });
});
