/**
 * Owns the environment and the command lines of an app's processes.
 *
 * 1. Of our own environment, a process gets only what is named here.
 * 2. PORT and APP_DATA_DIR are ours. The app's variables may replace everything else.
 */
import { join } from 'node:path';
import type { ReleasePlan } from '../../../store/records/records.ts';
import type { OwnPaths, Toolchain } from '../../../places/place.ts';

export interface EnvironmentParts {
  files: OwnPaths;
  toolchain: Toolchain;
  /** The release's folder. */
  folder: string;
  /** The app's own variables, opened. */
  variables: Readonly<Record<string, string>>;
}

export function buildEnvironment(
  parts: EnvironmentParts,
  passedOn: Readonly<Record<string, string>>,
): Record<string, string> {
  return {
    ...baseEnvironment(parts),
    npm_config_update_notifier: 'false',
    ...passedOn,
    ...parts.variables,
    APP_DATA_DIR: parts.files.data,
  };
}

export function serviceEnvironment(parts: EnvironmentParts, port: number): Record<string, string> {
  return {
    ...baseEnvironment(parts),
    ...parts.variables,
    APP_DATA_DIR: parts.files.data,
    PORT: String(port),
  };
}

function baseEnvironment({ files, toolchain, folder }: EnvironmentParts): Record<string, string> {
  const own = [join(folder, 'node_modules', '.bin'), join(folder, '.venv', 'bin')];
  return {
    PATH: [...own, ...toolchain.path].join(':'),
    HOME: files.home,
    TMPDIR: files.temp,
    LANG: 'C.UTF-8',
    NODE_ENV: 'production',
    PYTHONUNBUFFERED: '1',
  };
}

/** In its working folder, a job leaves here which of its steps failed. */
export const failedStepFile = '.gangway-failed-step';

/**
 * Runs all steps as one job. The job prints each step before it runs it, and stops at the first that
 * fails. It leaves the line of that step in `failedStepFile`.
 */
export function jobCommand(steps: readonly string[]): string[] {
  // Each step gets its own shell: in `a && b` a failing `a` does not stop a shell with -e.
  const lines = steps.flatMap((step) => [
    `printf '%s\\n' ${quote(`$ ${step}`)}`,
    `/bin/sh -ec ${quote(step)} || failed=$?`,
    // A failure to write the file, as on a full disk, leaves the exit code as it is.
    `[ -z "$failed" ] || { rm -f ${failedStepFile} || :; printf %s ${quote(step)} > ${failedStepFile} || :; exit "$failed"; }`,
  ]);
  return ['/bin/sh', '-ec', ['failed=', ...lines].join('\n')];
}

export function serviceCommand(plan: ReleasePlan, toolchain: Toolchain, folder: string): string[] {
  if (plan.startCommand !== null) return shellCommand(plan.startCommand);
  return [toolchain.node, toolchain.staticServer, join(folder, plan.staticDir ?? '.')];
}

export function shellCommand(line: string): string[] {
  return ['/bin/sh', '-c', withoutShell(line)];
}

/** The environment of an app in a container. What the image sets stays unless it is named here. */
export function containerEnvironment(
  variables: Readonly<Record<string, string>>,
  port: number,
): Record<string, string> {
  return { ...variables, APP_DATA_DIR: containerDataDir, PORT: String(port) };
}

export const containerDataDir = '/data';

/** A single program replaces the shell that starts it, so that signals and exit codes are its own. */
function withoutShell(command: string): string {
  const isOne = /^[\w./-]+(\s[^;&|()`{}!\n]*)?$/.test(command);
  const isBuiltin =
    /^(\.|cd|eval|exec|exit|export|set|source|test|time|ulimit|umask|while|for|if)\s/;
  return isOne && !isBuiltin.test(`${command} `) ? `exec ${command}` : command;
}

export function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
