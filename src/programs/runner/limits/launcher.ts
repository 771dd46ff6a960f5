/**
 * Entry point of the launcher: becomes the program of a workload, inside its control groups.
 *
 * Node can start a program under another uid but not in another control group. So the runner starts
 * this, with an environment of our own, and it turns itself into the program: same process, same
 * standard streams, no descriptor more.
 *
 * 1. Nothing of the app is looked at before it is inside and under its uid: its variables (an
 *    `LD_PRELOAD` among them) come into being with its program.
 * 2. What `execve` would refuse is told first, by the code that it would have: when `execve` itself
 *    fails, node can only abort.
 */
import fs from 'node:fs';
import path from 'node:path';

import type { LaunchOrder } from './launch.ts';

/** As `launch.ts` writes it; a text, since this program is to load nothing but itself. */
const orderPrefix = 'GANGWAY_LAUNCH_';
const shell = '/bin/sh';
const interpretersMax = 5;
const elfMagic = 0x7f454c46;
const elf64 = 2;
const interpreterSegment = 3;
/** The kernel's bound for one argument or variable, its end included. */
const stringBytesMax = 131_072;

function refused(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(code), { code });
}

function readOrder(): LaunchOrder {
  const parts: string[] = [];
  for (const entry of fs.readFileSync('/proc/self/environ', 'utf8').split('\0')) {
    if (!entry.startsWith(orderPrefix)) continue;
    const equals = entry.indexOf('=');
    parts[Number(entry.slice(orderPrefix.length, equals))] = entry.slice(equals + 1);
  }
  return JSON.parse(parts.join('')) as LaunchOrder;
}

/** As execvp(3): through PATH unless it names a folder; the first that may be run. */
function findProgram(name: string, searchPath: string): string {
  if (name.includes('/')) {
    check(name, interpretersMax);
    return name;
  }
  let code = 'ENOENT';
  for (const dir of searchPath.split(':')) {
    const file = path.join(dir === '' ? '.' : dir, name);
    try {
      check(file, interpretersMax);
      return file.includes('/') ? file : `./${file}`;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EACCES') code = 'EACCES';
    }
  }
  throw refused(code);
}

/** Throws for what cannot be executed, or names an interpreter that cannot. */
function check(file: string, deeper: number): void {
  fs.accessSync(file, fs.constants.X_OK);
  if (!fs.statSync(file).isFile()) throw refused('EACCES');
  const interpreter = interpreterOf(readHead(file));
  if (interpreter === undefined) return;
  if (deeper === 0) throw refused('ELOOP');
  check(interpreter, deeper - 1);
}

/** Empty for a file that may be executed but not read. */
function readHead(file: string): Buffer {
  const head = Buffer.alloc(4096);
  let fd: number;
  try {
    fd = fs.openSync(file, 'r');
  } catch {
    return head.subarray(0, 0); // Only the kernel may read it.
  }
  try {
    return head.subarray(0, fs.readSync(fd, head));
  } finally {
    fs.closeSync(fd);
  }
}

/** What the kernel would load for this file: of a script its `#!`, of a program its loader. */
function interpreterOf(head: Buffer): string | undefined {
  if (head.toString('latin1', 0, 2) === '#!') {
    const line = head.toString('utf8', 2).split('\n', 1)[0] ?? '';
    return line.trimStart().split(/[ \t]/, 1)[0];
  }
  const isProgram = head.length >= 64 && head.readUInt32BE(0) === elfMagic;
  if (!isProgram || head[4] !== elf64 || head[5] !== 1) return undefined;
  const table = Number(head.readBigUInt64LE(32));
  const entryBytes = head.readUInt16LE(54);
  for (let index = 0; index < head.readUInt16LE(56); index++) {
    const entry = table + index * entryBytes;
    if (entry + 56 > head.length) return undefined;
    if (head.readUInt32LE(entry) !== interpreterSegment) continue;
    const at = Number(head.readBigUInt64LE(entry + 8));
    const bytes = Number(head.readBigUInt64LE(entry + 32));
    return at + bytes > head.length ? undefined : head.toString('utf8', at, at + bytes - 1);
  }
  return undefined;
}

/** A text without `#!` is the shell's, as execvp(3) has it. */
function isShellText(file: string): boolean {
  const head = readHead(file);
  const isOther = head.length >= 4 && head.readUInt32BE(0) === elfMagic;
  return !isOther && head.toString('latin1', 0, 2) !== '#!' && head.length > 0;
}

/** Node ignores these, and what is ignored stays so in the program. */
function restoreSignals(): void {
  for (const signal of ['SIGPIPE', 'SIGXFSZ'] as const) {
    const nothing = (): void => undefined;
    process.on(signal, nothing);
    process.off(signal, nothing);
  }
}

function enter(order: LaunchOrder): void {
  // Zero: whoever writes it.
  for (const file of order.join) {
    try {
      fs.writeFileSync(file, '0');
    } catch {
      throw refused('ENOLIMITS'); // Not started at all rather than without its limits.
    }
  }
  if (order.terminal !== null) takeTerminal(order.terminal);
  goFirstWhenShort();
  process.chdir(order.workingDir);
  if (order.uid === null) return;
  process.setgroups?.([]);
  process.setgid?.(order.uid);
  process.setuid?.(order.uid);
}

/** Where the whole machine is short of memory programs of workloads end before all else. They cannot take it back. */
function goFirstWhenShort(): void {
  try {
    fs.writeFileSync('/proc/self/oom_score_adj', '500');
  } catch {
    // It is no Linux, or ours is higher already.
  }
}

/** Opens it as each of our standard streams: what is opened gets the lowest number that is free. */
function takeTerminal(file: string): void {
  for (const fd of [0, 1, 2]) {
    fs.closeSync(fd);
    if (fs.openSync(file, 'r+') !== fd) throw refused('EBADF');
  }
}

function become(order: LaunchOrder): void {
  const [name = '', ...args] = order.command;
  const file = findProgram(name, order.env['PATH'] ?? '/bin:/usr/bin');
  const variables = Object.entries(order.env).map(([key, value]) => `${key}=${value}`);
  for (const text of [...args, ...variables]) {
    if (Buffer.byteLength(text) >= stringBytesMax) throw refused('E2BIG');
  }
  const command = isShellText(file)
    ? { file: shell, argv: [shell, file, ...args] }
    : { file, argv: [name, ...args] };
  if (order.limiter !== null) {
    const [limiter = '', ...limits] = order.limiter;
    command.argv = [limiter, ...limits, command.file, ...command.argv.slice(1)];
    command.file = limiter;
  }
  tell(order, 'ok');
  restoreSignals();
  process.execve?.(command.file, command.argv, { ...order.env });
}

function tell(order: LaunchOrder, outcome: string): void {
  if (order.statusFd === null) return;
  fs.writeSync(order.statusFd, `${outcome}\n`);
  // The program is not to have it.
  fs.closeSync(order.statusFd);
}

function main(): void {
  const order = readOrder();
  try {
    enter(order);
    become(order);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'EINVAL';
    if (order.statusFd === null || order.terminal !== null) {
      fs.writeSync(2, `Cannot start ${order.command[0] ?? ''}: ${code}\r\n`);
    }
    tell(order, code);
    process.exitCode = code === 'ENOENT' ? 127 : 126;
  }
}

main();
