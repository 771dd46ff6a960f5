/**
 * Owns the interface of a database engine: names and versions, how programs of the machine or an image run
 * its server, how its health is checked, and what its clients need.
 *
 * 1. An engine is data and functions: it keeps no state, and every call may be repeated.
 * 2. No password stands in an argument of a program, in a log or in a sentence for people.
 */
import type { Duplex } from 'node:stream';
import { ServiceError } from '../../../lib/errors.ts';
import type { DatabaseFiles, MachineTools } from '../../../places/place.ts';
import type { ExecOutcome } from '../../../protocol/workload.ts';

/** A program to run. `command` holds no secret. */
export interface Command {
  command: string[];
  env: Record<string, string>;
}

export interface Access {
  host: string;
  port: number;
  /** Where our own clients reach it in place of host and port; see `HostEngine.socket`. */
  socket?: string | null;
  username: string;
  password: string;
  databaseName: string;
}

export interface Names {
  databaseName: string;
  username: string;
}

export interface Secrets {
  /** The password of the user. */
  password: string;
  /** The password of the engine's own administrator. */
  adminPassword: string;
}

export interface Server extends Names, Secrets {
  host: string;
  port: number;
  /** The port inside its sandbox, where commands run. */
  ownPort: number;
  /** Where it is reached in place of both; see `HostEngine.socket`. */
  socket: string | null;
  /** A connection to where it listens. */
  connect: (
    to: { host: string; port: number } | { path: string },
    signal: AbortSignal,
  ) => Promise<Duplex>;
  /** Runs a command beside the server, in its sandbox, for half a minute at most. */
  exec(command: Command, signal: AbortSignal): Promise<ExecOutcome>;
}

export type Wellness =
  | { kind: 'well' }
  /** The server lives and reports that it will be well, for example while it replays its log. */
  | { kind: 'starting'; seen: string }
  /** `seen` is the end of a sentence. */
  | { kind: 'unwell'; seen: string };

/** The files of a server that runs by programs of the machine. */
export type HostPlace = Pick<
  DatabaseFiles,
  'data' | 'home' | 'temp' | 'run' | 'write' | 'writeData'
>;

export interface HostInit extends Command {
  /** The program refuses a uid that has no name on this machine. */
  needsName: boolean;
}

export interface ServerCommand extends Command {
  /** By which it listens on its Unix socket (a path) alone, and on no port; absent: it has none. */
  behind?: { socket: string; command: string[] };
}

export interface HostServer {
  /** In full, such as `18.4`. */
  version: string;
  /** The whole path of the server's program. */
  program: string;
  /** The job that makes the files; null: none is needed. `place.data` is empty; this call may write there. */
  init(place: HostPlace, secrets: Secrets): Promise<HostInit | null>;
  /** Writes the files that the server reads, and returns its command. */
  serve(place: HostPlace, port: number, names: Names, secrets: Secrets): Promise<ServerCommand>;
}

export interface HostEngine {
  /**
   * Finds the server for a requested version; null: the best one there is. Throws ENGINE_NOT_AVAILABLE and,
   * for a version alone, BAD_USER_INPUT.
   */
  find(version: string | null, tools: MachineTools): Promise<HostServer>;
  /** Finds a server that can use the files that `version` made. */
  again(version: string, tools: MachineTools): Promise<HostServer>;
  /**
   * The Unix socket of a server on this port, as its clients name it, in a folder that only its own user and
   * we may enter: unlike on a port, nobody else answers there. Null: the path is too long for one.
   */
  socket(place: Pick<HostPlace, 'run'>, port: number): string | null;
}

export interface ImageEngine {
  /** The first is the default. */
  versions: readonly string[];
  /** The image of a version, such as `postgres:18-alpine`. */
  reference: (version: string) => string;
  /** The port inside the container. */
  port: number;
  /** The path of its volume inside the container. */
  volume: string;
  run(names: Names, secrets: Secrets): Command;
}

/** The rule for a name; `what` ends a sentence that begins with the field's name. */
export interface NameRule {
  pattern: RegExp;
  what: string;
  /** In lower case. */
  reserved: readonly string[];
}

export interface Engine {
  /** For people. */
  readonly label: string;
  readonly defaults: Names;
  /** Null: the name cannot be chosen. */
  readonly rules: { databaseName: NameRule | null; username: NameRule | null };
  /** Null when only images run the engine. */
  readonly host: HostEngine | null;
  readonly image: ImageEngine;
  /** Matches a line of its log that tells what is wrong, in the group `text`. */
  readonly complaint: RegExp;
  /** The address for clients; parts are encoded. */
  url(access: Access): string;
  /** Rejects only when `signal` aborts. */
  check(server: Server, signal: AbortSignal): Promise<Wellness>;
  /** Makes the user and the database in a new server. May be repeated. */
  setUp(server: Server, signal: AbortSignal): Promise<void>;
  /**
   * Gives the user another password without a restart. May be repeated. PasswordRefused says that
   * `server.password` is still in force; after any other error either password may be.
   */
  setPassword(server: Server, password: string, signal: AbortSignal): Promise<void>;
  /**
   * The client for a console; with a statement, the same client for that statement alone, which exits with
   * 0 when it succeeded. `tools` is null inside an image.
   */
  client(access: Access, statement: string | null, tools: MachineTools | null): Promise<Command>;
}

/** The message is what a server, or its client, wrote in place of a success. */
export class ServerRefusal extends Error {
  override readonly name: string = 'ServerRefusal';
}

/**
 * The server refused the new password, and the previous one still signs in. So no earlier try succeeded
 * either.
 */
export class PasswordRefused extends Error {
  override readonly name = 'PasswordRefused';
  /** A sentence for people, when more is known. */
  readonly why: string | null;

  constructor(why: string | null, options?: ErrorOptions) {
    super('The server refused another password', options);
    this.why = why;
  }
}

export interface PasswordChange {
  change: Command;
  /** Whether the output is the server's own refusal, and not the client's error about its connection. */
  isRefusal: (said: string) => boolean;
  /** The reason for people; absent: nothing more is known. */
  whyOf?: (said: string) => string | null;
  /** Signs in with the previous password. */
  signIn: Command;
}

/** Changes the password by an engine's own client, as `setPassword`. */
export async function changeByClient(
  server: Server,
  { change, isRefusal, whyOf, signIn }: PasswordChange,
  signal: AbortSignal,
): Promise<void> {
  const { exitCode, output } = await server.exec(change, signal);
  if (exitCode === 0) return;
  const said = Buffer.from(output).toString('utf8');
  if (isRefusal(said)) {
    const { exitCode: code } = await server.exec(signIn, signal);
    const cause = new ServerRefusal(lastLine(output));
    if (code === 0) throw new PasswordRefused(whyOf?.(said) ?? null, { cause });
  }
  throw new ServerRefusal(lastLine(output));
}

/** Checks the server as `check`, by a command that succeeds when the server is well. */
export async function checkByClient(
  server: Server,
  command: Command,
  signal: AbortSignal,
): Promise<Wellness> {
  const { exitCode, output } = await server.exec(command, signal);
  if (exitCode === 0) return { kind: 'well' };
  return { kind: 'unwell', seen: `it said: ${lastLine(output)}` };
}

/** Rejects with ServerRefusal when the command fails. */
export async function runByClient(
  server: Server,
  command: Command,
  signal: AbortSignal,
): Promise<void> {
  const { exitCode, output } = await server.exec(command, signal);
  if (exitCode !== 0) throw new ServerRefusal(lastLine(output));
}

/** An engine that the machine has in one version at most. */
export interface HostProgram {
  label: string;
  /** The names of its server's program; messages show the first. */
  names: readonly string[];
  versionArgs: readonly string[];
  /** Finds the version in the program's output. */
  version: RegExp;
}

/** As `HostEngine.find`. */
export async function findProgram(
  { label, names, versionArgs, version }: HostProgram,
  wanted: string | null,
  tools: MachineTools,
): Promise<{ program: string; version: string }> {
  const program = await tools.find(names);
  const said = program === null ? null : await tools.ask(program, versionArgs);
  const found = version.exec(said ?? '')?.[1];
  if (program === null || found === undefined) {
    const why = `there is no program ${names[0] ?? ''} on it`;
    throw notAvailable(`This server has no ${label}: ${why}. A server with Docker has it.`);
  }
  if (wanted === null || isVersion(found, wanted)) return { program, version: found };
  throw noVersion(label, wanted, [found]);
}

/** Whether `18.4` fits a request for `18` or `18.4`. */
export function isVersion(version: string, wanted: string): boolean {
  return version === wanted || version.startsWith(`${wanted}.`);
}

export function noVersion(label: string, wanted: string, there: readonly string[]): ServiceError {
  const sentence = `This server has no ${label} ${wanted}. There is: ${there.join(', ')}.`;
  return new ServiceError('BAD_USER_INPUT', sentence);
}

export function notAvailable(sentence: string): ServiceError {
  return new ServiceError('ENGINE_NOT_AVAILABLE', sentence);
}

export function hostEnvironment(
  { home, temp }: HostPlace,
  path: readonly string[],
): Record<string, string> {
  return { PATH: path.join(':'), HOME: home, TMPDIR: temp, LANG: 'C.UTF-8' };
}

export function requireHost({ host, label }: Engine): HostEngine {
  if (host !== null) return host;
  throw notAvailable(`${label} runs in a container alone: this server has no Docker.`);
}

/** The address for clients; parts are encoded. */
export function addressOf(scheme: string, access: Access): string {
  const { host, port, username, password, databaseName } = access;
  const user = `${encodeURIComponent(username)}:${encodeURIComponent(password)}`;
  return `${scheme}://${user}@${host}:${String(port)}/${encodeURIComponent(databaseName)}`;
}

/** A plain identifier that needs no quotes anywhere. */
export const identifierRule = (lengthMax: number, reserved: readonly string[]): NameRule => ({
  pattern: new RegExp(`^[a-z_][a-z0-9_]{0,${String(lengthMax - 1)}}$`),
  what: `must be lower-case letters, digits and _, no digit first, ${String(lengthMax)} at most`,
  reserved,
});

/** The last line with text, in which a command explains its failure. */
export function lastLine(output: Uint8Array): string {
  const lines = Buffer.from(output).toString('utf8').split('\n');
  const said = lines.map((line) => line.trim()).filter((line) => line !== '');
  return (said.at(-1) ?? 'it said nothing').slice(0, 300);
}

/** The system cuts longer socket paths. */
const socketPathMax = 107;

/** The path, or null when it is too long for a socket. */
export function socketPath(path: string): string | null {
  return Buffer.byteLength(path) <= socketPathMax ? path : null;
}

/** The word as a shell reads it. */
export function quotedForShell(word: string): string {
  return /^[\w./=:@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

const statementVariable = 'GANGWAY_STATEMENT';

/** A shell line that passes a statement to a client as input, so that no argument shows it to others. */
export function fedByShell(client: string, text: string, env: Command['env']): Command {
  return {
    command: ['/bin/sh', '-c', `printf '%s\\n' "$${statementVariable}" | ${client}`],
    env: { [statementVariable]: text, ...env },
  };
}
