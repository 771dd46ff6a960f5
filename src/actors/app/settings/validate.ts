/**
 * Owns what an app's settings may be. Every refusal is BAD_USER_INPUT with a sentence that names the field
 * and what is allowed. Accepted values are normalised (trimmed, '' as null).
 */
import type { Driver } from '../../../drivers/driver.ts';
import { ServiceError } from '../../../lib/errors.ts';
import { isName } from '../../../lib/names.ts';
import type { BuildConfig, DeploySource, GitSource } from '../../../store/records/records.ts';
import type { Resources } from '../../../protocol/workload.ts';
import type { Reader } from '../../../store/reader-and-journal.ts';
import { tables } from '../../../store/records/tables.ts';
import { localServerId } from '../../../places/local-place.ts';
import { remoteOfConnection } from '../../git/connection.ts';
import type { AppDeps } from '../deps.ts';
import type { NewApp } from '../protocol.ts';
import { takesPushes } from './git-source.ts';

const composeMaxBytes = 256 * 1024;
const previewBranchesMax = 50;
const watchPathsMax = 50;
const swarmReplicasMax = 50;

export function bad(sentence: string): ServiceError {
  return new ServiceError('BAD_USER_INPUT', sentence);
}

// Line ends count too.
const controls = /\p{Cc}/u;

export function checkName(name: string): string {
  const trimmed = name.trim();
  const { length } = Array.from(trimmed);
  if (length < 1 || length > 100) throw bad('The name must have 1 to 100 characters.');
  if (controls.test(trimmed)) throw bad('The name must not contain control characters.');
  if (!isName(trimmed)) throw bad('The name must be text that people can see, on one line.');
  return trimmed;
}

/** The server of a new app or database; null: this machine. */
export function checkServer(reader: Reader, serverId: string | null): string {
  if (serverId === null || serverId === localServerId) return localServerId;
  const server = reader.get(tables.servers, serverId);
  if (server?.agent === undefined) throw bad('serverId names no server of this instance.');
  if (!server.draining) return serverId;
  throw new ServiceError('CONFLICT', 'This server is draining: nothing new is put on it.');
}

/** Its folder must be one of the team. */
export function checkFolder(
  reader: Reader,
  { teamId, folderId }: Pick<NewApp, 'teamId' | 'folderId'>,
): void {
  if (folderId !== null && reader.get(tables.folders, folderId)?.teamId !== teamId) {
    throw bad('folderId names no folder of the team.');
  }
}

export const emptyBuild: BuildConfig = {
  buildCommand: null,
  startCommand: null,
  dockerfile: null,
  outputDir: null,
  nodeVersion: null,
  port: null,
  healthPath: null,
};

export const emptyResources: Resources = { memoryMb: null, cpus: null, pids: null, replicas: 1 };

/** `base` with the fields of `patch`; undefined leaves a field as it is. */
export function checkBuild(base: BuildConfig, patch: Partial<BuildConfig>): BuildConfig {
  const build = { ...base, ...defined(patch) };
  return {
    buildCommand: checkCommand('build.buildCommand', build.buildCommand),
    startCommand: checkCommand('build.startCommand', build.startCommand),
    dockerfile: checkRelativePath('build.dockerfile', build.dockerfile),
    outputDir: checkRelativePath('build.outputDir', build.outputDir),
    nodeVersion: checkText(
      build.nodeVersion,
      /^[\w.\-/*^~<>=| ]{1,40}$/,
      'build.nodeVersion must be a version such as 22 or 22.x.',
    ),
    port: checkInteger('build.port', build.port, 1, 65_535),
    healthPath: checkText(
      build.healthPath,
      /^\/[\x21-\x7e]{0,1023}$/,
      'build.healthPath must start with "/" and hold no spaces, such as /healthz.',
    ),
  };
}

/** The most replicas of a program that the driver can run. */
export function replicasMaxOf({ name }: Pick<Driver, 'name'>): number {
  return name === 'swarm' ? swarmReplicasMax : 1;
}

export function checkResources(
  base: Resources,
  patch: Partial<Resources>,
  replicasMax = 1,
): Resources {
  const resources = { ...base, ...defined(patch) };
  checkInteger('resources.memoryMb', resources.memoryMb, 16, 1_048_576);
  checkInteger('resources.pids', resources.pids, 8, 16_384);
  if (replicasMax === 1 && resources.replicas !== 1) {
    throw bad('resources.replicas must be 1 here: only the swarm runtime runs more of an app.');
  }
  checkInteger('resources.replicas', resources.replicas, 1, replicasMax);
  const { cpus } = resources;
  if (cpus !== null && !(Number.isFinite(cpus) && cpus >= 0.01 && cpus <= 512)) {
    throw bad('resources.cpus must be between 0.01 and 512.');
  }
  return resources;
}

export function checkGit(git: GitSource): GitSource {
  const repository = git.repository.trim();
  if (repository === '' || repository.length > 2048 || controls.test(repository)) {
    throw bad('git.repository must have 1 to 2048 characters.');
  }
  // Everybody who sees the app sees its repository. `ssh://git@host` names a user and no secret.
  if (/^https?:\/\/[^/?#]*@/i.test(repository) || /^\w+:\/\/[^/?#@]*:[^/?#]*@/.test(repository)) {
    throw bad('git.repository must not hold a password or token.');
  }
  if (takesPushes({ ...git, repository }) && !/^\w[\w.-]{0,99}$/.test(repository)) {
    throw bad(
      'git.repository must be an address such as https://git.example/owner/name.git, a name such as ' +
        'owner/name beside a connectionId, or one word for an app that is pushed to here.',
    );
  }
  return {
    connectionId: git.connectionId,
    repository,
    branch: checkBranch('git.branch', git.branch),
    path: checkRelativePath('git.path', git.path),
    ...checkWatchPaths(git.watchPaths ?? []),
    ...(git.submodules === true && { submodules: true }),
  };
}

function checkWatchPaths(given: readonly string[]): Pick<GitSource, 'watchPaths'> {
  if (given.length > watchPathsMax) {
    throw bad(`git.watchPaths may hold ${String(watchPathsMax)} paths at most.`);
  }
  const paths = given.map((path) => checkRelativePath('git.watchPaths', path.replace(/\/+$/, '')));
  const watchPaths = [...new Set(paths.filter((path) => path !== null))];
  return watchPaths.length === 0 ? {} : { watchPaths };
}

/**
 * BAD_USER_INPUT for a connection that is none of the team's, since it would be fetched with the token of others, and
 * for what nothing can be fetched from.
 */
export function checkGitRemote(
  { reader, git: { flawOf } }: Pick<AppDeps, 'reader' | 'git'>,
  teamId: string,
  git: GitSource,
): void {
  const { connectionId, repository } = git;
  const connection = connectionId === null ? null : reader.get(tables.gitConnections, connectionId);
  if (connection !== null && connection?.teamId !== teamId) {
    throw bad('git.connectionId names no git connection of the team.');
  }
  if (takesPushes(git)) return;
  const url =
    connection === null ? repository : remoteOfConnection(connection, repository, null).url;
  const flaw = flawOf(url);
  if (flaw !== null) throw bad(`git.repository cannot be used: ${flaw}`);
}

export function checkImage(image: string): string {
  const trimmed = image.trim();
  if (!/^[a-z0-9][\w.\-/:@]{0,511}$/i.test(trimmed)) {
    throw bad('image must be a reference such as registry.example/team/app:tag.');
  }
  return trimmed;
}

export function checkCompose(compose: string): string {
  if (compose.trim() === '') throw bad('compose must not be empty.');
  if (Buffer.byteLength(compose) > composeMaxBytes) {
    throw bad('compose must be at most 256 KiB.');
  }
  return compose;
}

export function checkPreviewBranches(branches: readonly string[]): string[] {
  if (branches.length > previewBranchesMax) {
    throw bad(`previewBranches may hold ${String(previewBranchesMax)} patterns at most.`);
  }
  return [...new Set(branches.map((branch) => checkBranch('previewBranches', branch)))];
}

const sourceFields = [
  ['git', 'GIT'],
  ['image', 'IMAGE'],
  ['compose', 'COMPOSE'],
] as const;

/** An app has only the field of its own source, and a new app must have it. */
export function checkSourceFields(
  source: DeploySource,
  given: Partial<Pick<NewApp, (typeof sourceFields)[number][0]>>,
  isNew: boolean,
): void {
  for (const [field, itsSource] of sourceFields) {
    const isGiven = given[field] != null;
    if (isNew && !isGiven && itsSource === source) {
      throw bad(`An app with source ${source} needs ${field}.`);
    }
    if (isGiven && itsSource !== source) throw bad(`An app with source ${source} has no ${field}.`);
  }
}

export function checkSource(app: NewApp): Pick<NewApp, 'git' | 'image' | 'compose'> {
  checkSourceFields(app.source, app, true);
  return {
    git: app.git && checkGit(app.git),
    image: app.image === null ? null : checkImage(app.image),
    compose: app.compose === null ? null : checkCompose(app.compose),
  };
}

function checkBranch(field: string, branch: string): string {
  const trimmed = branch.trim();
  if (trimmed === '' || trimmed.length > 255 || controls.test(trimmed) || trimmed.includes(' ')) {
    throw bad(`${field} must be a branch name of 1 to 255 characters.`);
  }
  return trimmed;
}

/** Null for no text, or only blanks. */
export function checkText(text: string | null, allowed: RegExp, sentence: string): string | null {
  const trimmed = text?.trim() ?? '';
  if (trimmed === '') return null;
  if (allowed.test(trimmed)) return trimmed;
  throw bad(sentence);
}

function checkCommand(field: string, command: string | null): string | null {
  return checkText(command, /^[^\0]{1,4096}$/, `${field} must have at most 4096 characters.`);
}

function checkRelativePath(field: string, path: string | null): string | null {
  const trimmed = (path ?? '').trim().replace(/^(\.\/)+|\/+$/g, '');
  if (trimmed === '') return (path ?? '').trim() === './' ? '.' : null;
  const outside = trimmed.startsWith('/') || trimmed.split(/[/\\]/).includes('..');
  if (outside || trimmed.length > 1024 || controls.test(trimmed)) {
    throw bad(`${field} must be a path inside the app's source, without "..".`);
  }
  return trimmed;
}

export function checkInteger<T extends number | null>(
  field: string,
  value: T,
  min: number,
  max: number,
): T {
  if (value === null) return value;
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw bad(`${field} must be a whole number from ${String(min)} to ${String(max)}.`);
}

/** The patch without fields that are undefined, which a caller may spell out. */
function defined<T extends object>(patch: T): { [K in keyof T]-?: Exclude<T[K], undefined> } {
  const entries = Object.entries(patch).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]-?: Exclude<T[K], undefined> };
}
