/** Processes that are expensive to look at. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { findMembers, markVariable } from '../../src/lib/processes/processes.ts';
import { needs, programPath } from '../support/programs.ts';
import { tempDir } from '../support/runner.ts';

const vast = fileURLToPath(new URL('../../bench/hostile/vast.c', import.meta.url));

it(
  'a process with an environment of gigabytes is not read whole',
  { skip: needs('cc') },
  async (t) => {
    const dir = tempDir();
    t.after(() => {
      fs.rmSync(dir, { recursive: true });
    });
    const program = path.join(dir, 'vast');
    execFileSync(programPath('cc') ?? 'cc', ['-o', program, vast]);
    const child = spawn(program, { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => child.kill('SIGKILL'));
    const said = await new Promise<string>((resolve) => {
      child.stdout.once('data', (text: Buffer) => {
        resolve(text.toString().trim());
      });
    });
    if (said === 'refused') {
      t.skip('needs a kernel with PR_SET_MM_MAP');
      return;
    }
    const before = process.resourceUsage().maxRSS;
    findMembers({ mark: 'nobody', first: null });
    const grownKb = process.resourceUsage().maxRSS - before;
    assert.ok(grownKb < 300_000, String(grownKb));
  },
);

it('a process is found by its mark beside variables of any honest size', async (t) => {
  const mark = `looked-for-${String(process.pid)}`;
  const env = { [markVariable]: mark, LARGE: 'x'.repeat(100_000), OTHER: 'y'.repeat(100_000) };
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000); console.log(1)'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  await new Promise((resolve) => child.stdout.once('data', resolve));
  assert.deepEqual(
    findMembers({ mark, first: null }).map(({ pid }) => pid),
    [child.pid],
  );
});
