import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../../fixtures/bench/run.ts', import.meta.url));

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

async function run(args: readonly string[]): Promise<Ended> {
  const node = ['--disable-warning=ExperimentalWarning', program, ...args];
  return await new Promise((resolve) => {
    execFile(process.execPath, node, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });
}

/** What a scenario looks like that has no figures: in the terminal, its JSON, the page, the Markdown. */
const failing = {
  closes:
    /answered nothing under load|were wrong or never came|closed without an answer|ECONNREFUSED/,
  killed: /^test\/fixtures\/bench\/server\.ts died: SIGKILL$/,
  lies: /^wrong answer: 200 \{"ok":null\}, not \{"ok":true\}$/,
  refuses: /^wrong answer: 500 \{"ok":true\}, not a 200$/,
} as const;

describe('a run of the bench where servers fail', () => {
  const results = mkdtempSync(join(tmpdir(), 'gangway-test-'));
  after(() => rmSync(results, { recursive: true, force: true }));
  let ended: Ended = { code: 0, stdout: '', stderr: '' };
  before(async () => {
    ended = await run([results, '--quick']);
  });
  const read = (file: string): string => readFileSync(join(results, file), 'utf8');

  it('ends with 1', () => {
    assert.equal(ended.code, 1);
  });

  for (const [name, reason] of Object.entries(failing)) {
    it(`says of the server that is called ${name} why there are no figures, and has none`, () => {
      const said = new RegExp(`^${name} failed, no figures: (.*)$`, 'm').exec(ended.stderr)?.[1];
      assert.match(said ?? '', reason);
      const result = JSON.parse(read(`${name}.json`)) as { failed?: string; rows?: unknown };
      assert.equal(result.failed, said);
      assert.equal(result.rows, undefined);
      const section = new RegExp(`<section id="${name}">[^]*?</section>`).exec(read('report.html'));
      assert.match(section?.[0] ?? '', /Failed, no figures/);
      assert.doesNotMatch(section?.[0] ?? '', /<svg|<table|req\/s/);
      assert.match(read('report.md'), new RegExp(`\\| ${name} \\| failed, no figures \\|`));
    });
  }

  it('has the figures of the one that answers as it should, and of no other', () => {
    const result = JSON.parse(read('right.json')) as { rows: { what: string }[] };
    assert.equal(result.rows[0]?.what, 'throughput');
    assert.equal(ended.stdout.match(/throughput \(closed loop\)/g)?.length, 1);
    assert.match(read('report.html'), /<section id="right">[^]*<svg[^]*<\/section>/);
    assert.equal(read('report.html').match(/<table/g)?.length, 1);
    assert.deepEqual(
      readdirSync(results).filter((file) => file.endsWith('.json')),
      [...Object.keys(failing), 'right'].map((name) => `${name}.json`),
    );
  });
});

describe('a run of the bench that is asked for what is not there', () => {
  it('ends with 2 and says what there is', async () => {
    const { code, stderr } = await run([tmpdir(), 'no-such-scenario']);
    assert.equal(code, 2);
    assert.match(stderr, /There is no scenario no-such-scenario; there are closes, .*right\./);
    const { code: option } = await run([tmpdir(), '--no-such-option']);
    assert.equal(option, 2);
  });

  it('ends with 2 where the commit to compare with is none', async () => {
    const { code, stderr } = await run([tmpdir(), '--compare', 'no-such-ref', 'right']);
    assert.equal(code, 2);
    assert.match(stderr, /^There is no commit no-such-ref in this repository\.$/m);
  });
});
