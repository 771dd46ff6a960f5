/** Owns running the programs of the machine that make networks: where they are, what they read, and why they failed. */
import { execFile, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

/** A program and what stands before the arguments of each call. */
export type Tool = readonly [program: string, ...args: string[]];

export interface NetworkTools {
  ip: Tool;
  /** Says all rules. */
  save: Tool;
  /** Adds rules to those that are there, each table at once. */
  restore: Tool;
  nsenter: Tool;
  unshare: Tool;
}

/** A runner has no PATH. */
const standardFolders = [
  '/usr/sbin',
  '/sbin',
  '/usr/bin',
  '/bin',
  '/usr/local/sbin',
  '/usr/local/bin',
];
const timeoutMs = 20_000;
/** Of all rules of a machine. */
const outputMaxBytes = 64 * 1024 * 1024;
/** Another program may be changing rules. */
const lockSeconds = '10';

/** Names of those that are not there in place of all. */
export function findTools(): NetworkTools | { lacking: string[] } {
  const names = ['ip', 'iptables-save', 'iptables-restore', 'nsenter', 'unshare'] as const;
  const found = new Map(names.map((name) => [name, findTool(name)]));
  const lacking = names.filter((name) => found.get(name) === undefined);
  if (lacking.length > 0) return { lacking };
  const at = (name: (typeof names)[number]): string => found.get(name) ?? name;
  return {
    ip: [at('ip')],
    save: [at('iptables-save')],
    restore: [at('iptables-restore'), '--wait', lockSeconds, '--noflush'],
    nsenter: [at('nsenter')],
    unshare: [at('unshare')],
  };
}

function findTool(name: string): string | undefined {
  return standardFolders
    .map((folder) => path.join(folder, name))
    .find((file) => fs.existsSync(file));
}

const env = { PATH: standardFolders.join(':'), LC_ALL: 'C' };

/** What it wrote. Rejects with an Error that has the first line of what it complained of. */
export function runTool([program, ...args]: Tool, input = ''): Promise<string> {
  const options = { env, timeout: timeoutMs, maxBuffer: outputMaxBytes };
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(complaintOf(path.basename(program), stderr, error), { cause: error }));
    });
    child.stdin?.on('error', () => undefined); // It ended before it read: its exit tells.
    child.stdin?.end(input);
  });
}

/** The same while all else waits; whether it succeeds is left to who looks next. */
export function runToolSync([program, ...args]: Tool, input: string): void {
  spawnSync(program, args, { env, input, timeout: timeoutMs });
}

function complaintOf(name: string, stderr: string, error: Error): string {
  const line = stderr.split('\n').find((one) => one.trim() !== '' && !one.startsWith('#'));
  return `${name}: ${(line ?? error.message).trim().slice(0, 200)}`;
}

/** The same tool inside a network namespace, given by a path. */
export function inside(
  { nsenter }: Pick<NetworkTools, 'nsenter'>,
  space: string,
  tool: Tool,
): Tool {
  return [...nsenter, `--net=${space}`, '--', ...tool];
}
