/**
 * Owns running the programs of the machine by which workloads are kept apart: where they are, what they read,
 * and why they failed.
 */
import { execFile, type ExecFileOptions, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

/** A program and what stands before the arguments of each call. */
export type Tool = readonly [program: string, ...args: string[]];

/** Also where nothing but the shell of an administrator has them in its PATH; a runner has none. */
const toolFolders = ['/usr/sbin', '/usr/bin', '/sbin', '/bin', '/usr/local/sbin', '/usr/local/bin'];
export const toolEnvironment = { PATH: toolFolders.join(':'), LC_ALL: 'C' };
/** `maxBuffer`: of all rules of a machine. */
const options = {
  env: toolEnvironment,
  timeout: 20_000,
  maxBuffer: 64 * 1024 * 1024,
  cwd: '/',
} satisfies ExecFileOptions;

/** Absolute, by their names; the names of those that are not there in place of all. */
export function findTools<Name extends string>(
  names: readonly Name[],
): Readonly<Record<Name, string>> | { lacking: Name[] } {
  const found = names.map((name) => [name, findTool(name)] as const);
  const lacking = found.flatMap(([name, file]) => (file === undefined ? [name] : []));
  if (lacking.length > 0) return { lacking };
  return Object.fromEntries(found) as Record<Name, string>;
}

function findTool(name: string): string | undefined {
  return toolFolders.map((dir) => path.join(dir, name)).find((file) => fs.existsSync(file));
}

/** What it wrote. Rejects with an Error that has the first line of what it complained of. */
export function runTool([program, ...args]: Tool, input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(complaintOf(program, stderr) ?? error.message, { cause: error }));
    });
    child.stdin?.on('error', () => undefined); // It ended before it read: its exit tells.
    child.stdin?.end(input);
  });
}

/** The same while all else waits; whether it succeeds is left to who looks next. */
export function runToolSync([program, ...args]: Tool, input: string): void {
  spawnSync(program, args, { ...options, input });
}

/** Undefined when it did not complain. */
export function complaintOf(program: string, stderr: string): string | undefined {
  const line = stderr.split('\n').find((one) => one.trim() !== '' && !one.startsWith('#'));
  if (line === undefined) return undefined;
  const name = path.basename(program);
  const text = line.trim().slice(0, 200);
  return text.startsWith(name) ? text : `${name}: ${text}`;
}
