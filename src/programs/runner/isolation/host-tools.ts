/** Owns where the programs are by which workloads are isolated: those of util-linux, mostly. */
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

/** Also where nothing but the shell of an administrator has them in its PATH. */
export const toolFolders = ['/usr/sbin', '/usr/bin', '/sbin', '/bin'] as const;

export const toolEnvironment = { PATH: toolFolders.join(':'), LC_ALL: 'C' };

const tryMs = 10_000;

/** Absolute; undefined when it is not there. */
export function findTool(name: string): string | undefined {
  return toolFolders.map((dir) => path.join(dir, name)).find((file) => fs.existsSync(file));
}

/** Undefined when it succeeds, else what it says. */
export function complaintOf(command: readonly string[]): Promise<string | undefined> {
  const [program = '', ...args] = command;
  return new Promise((resolve) => {
    const options = { env: toolEnvironment, timeout: tryMs, cwd: '/' };
    execFile(program, args, options, (error, _stdout, stderr) => {
      resolve(error === null ? undefined : oneLine(stderr) || error.message);
    });
  });
}

export function oneLine(text: string): string {
  return text.trim().split('\n', 1)[0] ?? '';
}
