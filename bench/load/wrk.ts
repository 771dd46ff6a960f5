/** Runs wrk in a process of its own; the last line is what its script printed. */
import { spawn } from 'node:child_process';

const { args } = JSON.parse(process.argv[2] ?? '{}') as { args: string[] };
spawn('wrk', args, { stdio: ['ignore', 'inherit', 'inherit'] }).on('close', (code) => {
  process.exitCode = code ?? 1;
});
