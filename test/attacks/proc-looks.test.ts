/** Processes that are expensive to look at. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';

import { findMembers, markVariable } from '../../src/lib/processes/processes.ts';
import { needs, programPath } from '../support/programs.ts';
import { tempDir } from '../support/runner.ts';

/** Says that its environment is 2 GiB long. */
const vast = `
#include <linux/prctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void) {
  char text[4096];
  FILE *file = fopen("/proc/self/stat", "r");
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  unsigned long at[64] = {0};
  int field = 3;
  for (char *part = strtok(strrchr(text, ')') + 2, " "); part != NULL; part = strtok(NULL, " "))
    at[field++] = strtoul(part, NULL, 10);
  size_t bytes = 2UL << 30;
  char *room = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  struct prctl_mm_map map = {
    .start_code = at[26], .end_code = at[27], .start_stack = at[28],
    .start_data = at[45], .end_data = at[46], .start_brk = at[47], .brk = (unsigned long)sbrk(0),
    .arg_start = at[48], .arg_end = at[49],
    .env_start = (unsigned long)room, .env_end = (unsigned long)room + bytes, .exe_fd = -1,
  };
  int refused = prctl(PR_SET_MM, PR_SET_MM_MAP, (unsigned long)&map, sizeof map, 0);
  puts(refused ? "refused" : "done");
  fflush(stdout);
  pause();
}
`;

it(
  'a process with an environment of gigabytes is not read whole',
  { skip: needs('cc') },
  async (t) => {
    const dir = tempDir();
    t.after(() => {
      fs.rmSync(dir, { recursive: true });
    });
    const [source, program] = [path.join(dir, 'vast.c'), path.join(dir, 'vast')];
    fs.writeFileSync(source, vast);
    execFileSync(programPath('cc') ?? 'cc', ['-o', program, source]);
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
