/** Owns what backups and restores know of what they are made of: a database with its server, the files of an app. */
import type { Duplex } from 'node:stream';
import type { Pipe, VolumeFolders, Volumes } from '../drivers/driver.ts';
import type { PipeSpec } from '../protocol/workload.ts';
import type { MissedEntries } from './threads/messages.ts';
import type { DatabaseEngine } from '../store/records/records.ts';

export interface DatabaseTarget {
  engine: DatabaseEngine;
  /** In full, such as `18.4`. */
  version: string;
  databaseName: string;
  username: string;
  password: string;
  /** Of the engine's own administrator. */
  adminPassword: string;
  /** Where the server is reached from here. */
  host: string;
  port: number;
  /** Where it is reached in place of both, here and in its sandbox, as clients name it; null: it has none. */
  socket: string | null;
  /** The port inside its sandbox, where programs run. */
  ownPort: number;
  /** Runs a program beside the server, in its sandbox. */
  pipe(spec: PipeSpec, input: AsyncIterable<Uint8Array> | null, signal: AbortSignal): Promise<Pipe>;
  /** The whole path of the server's program; null: it is one of its image. */
  server: string | null;
  /** The programs of the machine; null: the server runs in its image, which brings its own. */
  tools: ClientTools | null;
  /** Its files on this machine; null: they lie in a volume of its image, or on another server. */
  files: OwnFolder | null;
  /** Its volume, under the name `data`; null: its files lie in a folder of a machine. */
  volumes: OwnVolumes | null;
  /** Its files on another server; null: they lie on this machine, or in a volume. */
  elsewhere: FilesElsewhere | null;
  /** The folder of its data as its programs see it; null: that of its image. */
  folder: string | null;
  /** Reads that folder for a base backup; null: nobody can. */
  readFolder: ReadFolder | null;
  /** Connects to a socket of it on another server, by its whole path; null: it is reached from here. */
  connect: ((path: string, signal: AbortSignal) => Promise<Duplex>) | null;
  /**
   * Runs `work` beside another server of the same image, with this volume, which is made; its database and its
   * user are there, and empty. The server ends with `work`. Null where servers are programs of the machine.
   */
  beside: ((volume: string, work: BesideWork, signal: AbortSignal) => Promise<void>) | null;
  control: ServerControl;
  /** The same one, once it was started anew; absent: it is reached as before. */
  again?: () => Promise<DatabaseTarget>;
}

/** As `OwnTrees.archive`. */
export type ReadFolder = (
  prefix: string,
  signal: AbortSignal,
) => AsyncGenerator<Uint8Array, MissedEntries>;

export interface FilesElsewhere {
  data: DataBeside;
  /** Writes a file that programs of the database may read but not change. Returns the whole path. */
  write: (name: string, text: string) => Promise<string>;
}

/** `pipe`: as that of the target, in the other server's container. */
export type BesideWork = (pipe: DatabaseTarget['pipe']) => Promise<void>;

export interface ClientTools {
  /** The whole path of the first program found by one of these names. */
  find(names: readonly string[]): Promise<string | null>;
  /** The output of a program for these arguments, at most a few kB; null when it fails. */
  ask(program: string, args: readonly string[]): Promise<string | null>;
}

/** A folder that belongs to a program. */
export interface OwnFolder {
  /** Absolute; a folder of ours, in which it is. Nobody else can change its names. */
  root: string;
  /** Its name there. */
  data: string;
  /** Whom the files belong to; null: this process. */
  uid: number | null;
}

/** Volumes of a target whose programs run in containers. */
export interface ReadVolumes {
  owner: string;
  /** Those in use: their names at the driver, by their names in backups. */
  live: VolumeFolders;
  files: Pick<Volumes, 'of' | 'read' | 'write'>;
}

/** The same, for a restore. */
export interface OwnVolumes extends ReadVolumes {
  /** The name at the driver of a volume that this restore makes. */
  fresh(name: string): string;
  /** Those before the live ones, where an exchange was cut off; null: none was. */
  before: VolumeFolders | null;
  /**
   * From its next start on the target has these; resolves when that is durable. `before`: what it may have to go
   * back to; null: the exchange is over.
   */
  use: (volumes: VolumeFolders, before: VolumeFolders | null) => Promise<void>;
  remove(volume: string): Promise<void>;
}

/** The data of an app or a database at its place, and other data beside it that is to take its place. */
export interface DataBeside {
  /**
   * Makes other data beside the live one, on stable storage, of any archive whose names begin with `data/`. Rejects with
   * ARCHIVE_* codes too.
   */
  fillBeside(tar: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>;
  /** Puts what was made beside the live data in its place, and keeps the previous one. Nothing may run meanwhile. */
  exchange(): Promise<void>;
  /** Whether there is a previous one. */
  hasPrevious(): Promise<boolean>;
  /** Which data is live from now on; all other is removed. Nothing may run while the previous one comes back. */
  settle(data: 'live' | 'previous'): Promise<void>;
}

/** How what runs is ended for a change of its files. */
export interface ServerControl {
  /** Ends it, and keeps it from being started; resolves when it is gone. May be repeated. */
  stop(): Promise<void>;
  /**
   * Starts it, and gives the user of a database the password in force; resolves when it answers, else rejects.
   */
  start(): Promise<void>;
  /** To be told that the new data stands, before the previous is removed: from then on no crash takes it back. */
  replaced(): Promise<void>;
}

/** The files of an app. */
export interface AppTarget {
  /** What the app keeps. */
  volumes: readonly ReadVolume[] | ReadVolumes;
  /** The archive that was uploaded last. */
  upload: { filename: string; path: string } | null;
  /** What `app.json` holds: settings, as plain data. */
  settings: unknown;
}

/** A tree of an app, wherever it is. */
export interface ReadVolume {
  name: string;
  read: ReadFolder;
}

export interface AppVolume {
  /** `[a-zA-Z0-9_.-]+`. */
  name: string;
  folder: OwnFolder;
}
