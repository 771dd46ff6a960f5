/**
 * Owns how the runner asks for a launcher (see `launcher.ts`) and understands what it tells.
 *
 * The order goes by the environment: unlike arguments it is not for everyone on the machine to read.
 */
import type { Place } from '../../../protocol/terminal-messages.ts';
import { fileURLToPath } from 'node:url';

export interface ProgramStart {
  command: readonly string[];
  workingDir: string;
  /** The whole environment. */
  env: Readonly<Record<string, string>>;
  /** User and group id to run as; null: our own. */
  uid: number | null;
}

/** What a launcher is to do, in this order: join, go there, be that user, run that. */
export interface LaunchOrder extends ProgramStart, Place {
  /** Told the outcome: `ok`, or a code such as `ENOENT`, with a newline; null: nobody. */
  statusFd: number | null;
  /** What is opened by name as the standard streams; null: they are those it was given. */
  terminal: string | null;
}

/** The kernel takes 128 KiB in one variable. */
const partChars = 30_000;
const orderPrefix = 'GANGWAY_LAUNCH_';
/** Joins by the file that is `$0`, where it can; it becomes what is named behind. */
const joinLaunching = '{ echo 0 > "$0"; } 2> /dev/null; exec "$@"';
const nodeFlags = ['--no-warnings', '--no-opt', '--max-semi-space-size=1'];

/**
 * The start to carry out in place of this one, so that it runs in `place`; the same without one. The
 * process is the same, so is its session, and its standard streams are those of the launcher.
 * `statusFd`: a descriptor of it that is open for writing, where the line for `parseLaunch` is told; the
 * program does not get it. Without one, or on a terminal, a failure is told on standard error; it ends with
 * code 126 or 127 as in a shell. `keep`: variables by which the launcher itself is to be known. `terminal`:
 * what is opened by name as the standard streams; null: they are those given.
 */
export function confined(
  start: ProgramStart,
  place: Place | null,
  keep: readonly string[] = [],
  statusFd: number | null = null,
  terminal: string | null = null,
): ProgramStart {
  if (place === null) return start;
  const { enter = [], join, limiter, launching } = place;
  const order: LaunchOrder = { ...start, join, limiter, statusFd, terminal };
  const text = JSON.stringify(order);
  const env: Record<string, string> = {};
  for (const name of keep) env[name] = start.env[name] ?? '';
  for (let part = 0; part * partChars < text.length; part++) {
    env[`${orderPrefix}${String(part)}`] = text.slice(part * partChars, (part + 1) * partChars);
  }
  const joining = launching === undefined ? [] : ['/bin/sh', '-c', joinLaunching, launching];
  const command = [...joining, ...enter, process.execPath, ...nodeFlags, launcherFile()];
  return { command, workingDir: '/', env, uid: null };
}

/** The code of what a launcher told; undefined for `ok`, and when it told nothing. */
export function parseLaunch(told: string): string | undefined {
  const outcome = told.trim();
  return outcome === 'ok' || outcome === '' ? undefined : outcome;
}

/** The folder that holds the launcher and what Node reads with it. */
export function launcherRoot(): string {
  return fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');
}

function launcherFile(): string {
  // JavaScript where the runner runs from its prepared program, TypeScript in tests.
  const ending = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`./launcher.${ending}`, import.meta.url));
}
