/**
 * Owns what a place is: a machine that apps and databases run on, with their files. This machine is one, and each
 * server with an agent is one; whoever uses a place cannot tell which.
 *
 * 1. Paths are those of the machine: nobody but the place opens them. Archives are the exception: they lie on
 *    this machine, whatever place they are unpacked at.
 * 2. Every call may be repeated, and rejects with AGENT_UNREACHABLE where the machine cannot be reached.
 */
import type { Duplex } from 'node:stream';
import type { ArchiveFormat } from '../archives/formats/format.ts';
import type { Extracted } from '../archives/receiving/bulk-pool.ts';
import type { DataBeside } from '../backups/targets.ts';
import type { MissedEntries } from '../backups/threads/messages.ts';
import type { Driver } from '../drivers/driver.ts';

export interface Place {
  readonly serverId: string;
  readonly driver: Driver;
  /** The driver that has the edge: another one where apps run in containers. */
  readonly edge: EdgeDriver;
  /** The same while this process is connected to it. */
  machine: () => Promise<Machine>;
  /**
   * Rejects with the error of the system, and with the reason of `signal`, which ends no connection that is there.
   * `visitorsOf`: it is for visitors of this app, and OVERLOADED where they have too many.
   */
  connect: (to: WorkloadAddress, signal: AbortSignal, visitorsOf?: string) => Promise<Duplex>;
}

export type EdgeDriver = Pick<Driver, 'follow' | 'acknowledge' | 'traffic' | 'forgetTraffic'>;

/** Where a workload listens, as it is seen on its machine. */
export type WorkloadAddress = { workload: string } & (
  { host: string; port: number } | { path: string }
);

/** Both ends included. */
export interface UidRange {
  first: number;
  last: number;
}

export interface Machine {
  /** Own uids of apps and databases; null where the process may not change its uid. */
  readonly uids: Readonly<Record<'app' | 'database', UidRange>> | null;
  /** A uid that has a name on this machine; null: that of the process. */
  readonly namedUid: number | null;
  readonly toolchain: Toolchain;
  /** Variables for builds only: proxies, certificate files, registries. */
  readonly buildEnv: Readonly<Record<string, string>>;
  readonly tools: MachineTools;
  app: (owner: FilesOwner) => AppFiles;
  database: (owner: FilesOwner) => DatabaseFiles;
}

export interface FilesOwner {
  id: string;
  /** Null: everything belongs to the uid of the process. */
  uid: number | null;
}

/** What releases are built and run with. */
export interface Toolchain {
  /** Folders that come first in PATH: those of node and npm, then the host's. */
  path: readonly string[];
  /** The node program, and the file that serves static releases: `<node> <file> <folder>`. */
  node: string;
  staticServer: string;
  /** Such as `22.23.3`. */
  nodeVersion: string;
}

/** The programs of the machine. */
export interface MachineTools {
  path: readonly string[];
  /** The whole path of the first program found by one of these names, in PATH or in these folders. */
  find(names: readonly string[], folders?: readonly string[]): Promise<string | null>;
  /** The output of a program for these arguments, at most a few kB; null when it fails. */
  ask(program: string, args: readonly string[]): Promise<string | null>;
  /** The PostgreSQL that comes with the service, where every uid can read it; null without one. */
  ownPostgres(): Promise<{ bin: string; version: string } | null>;
  /** The folders with the programs of each PostgreSQL that packages of the machine brought. */
  packagedPostgres(): Promise<readonly string[]>;
  /** The program of the SQL prompt and the node that runs it. */
  sqlPrompt(): Promise<{ node: string; program: string }>;
}

/** The folders of an app or a database. Those of its own are 0700 and belong to it. */
export interface OwnPaths {
  readonly root: string;
  readonly data: string;
  readonly home: string;
  readonly temp: string;
  /** For `WorkloadSpec.files`. */
  readonly files: { root: string; temp: string };
}

/** `data`, or of an app the release of this name. */
export type TreeName = string;

/** Trees as tar, from one place to another, and other data in the place of the live one. */
export interface OwnTrees extends DataBeside {
  /**
   * All of it, faithfully. CONFLICT for what no tar can hold; pipes and sockets are left out. Nothing may change the tree
   * meanwhile.
   */
  pack(tree: TreeName, signal: AbortSignal): AsyncGenerator<Uint8Array, MissedEntries>;
  /**
   * What of a tree can be in any archive, under `prefix`, without the end of the tar, while anybody may change it. Returns
   * how many entries are not in it. `of`: an engine, whose base backups leave some out.
   */
  archive(
    tree: TreeName,
    prefix: string,
    signal: AbortSignal,
    of?: 'POSTGRES',
  ): AsyncGenerator<Uint8Array, MissedEntries>;
  /** Makes the folders, and the tree anew from what was packed. Rejects with ARCHIVE_* codes too. */
  fill(tree: TreeName, tar: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>;
}

export interface AppFiles extends OwnPaths {
  readonly trees: OwnTrees;
  /** The folder of a release. */
  release(name: string): string;
  /** What the folder of a release holds now. */
  source(name: string): ReleaseSource;
  /** Makes the folders that an app needs before it builds or starts. */
  ensure(): Promise<void>;
  /** Makes the folder of a release anew, with the content of the archive. Rejects with ARCHIVE_* codes too. */
  unpack(name: string, archive: SourceArchive, options: UnpackOptions): Promise<Extracted>;
  /** Makes the folder of a release anew, without content, and owned by this process. Returns its path. */
  emptyRelease(name: string): Promise<string>;
  removeRelease(name: string): Promise<void>;
  /** Removes every release but those named, and what a crash left half done. */
  keepReleases(names: ReadonlySet<string>): Promise<void>;
  /** Removes all. */
  remove(signal?: AbortSignal): Promise<void>;
}

export interface SourceArchive {
  /** On this machine. */
  path: string;
  format: ArchiveFormat;
  /** Whether a sole folder at its top stays. */
  keepsSoleFolder: boolean;
}

export interface UnpackOptions {
  /** Whether the release belongs to this process, which builds an image of it, and not to the app. */
  isOurs?: boolean;
  signal: AbortSignal;
}

/** Rejects with NOT_DEPLOYABLE and a sentence for what is there and cannot be read. */
export interface ReleaseSource {
  hasFile(...path: string[]): Promise<boolean>;
  hasFolder(...path: string[]): Promise<boolean>;
  /** The text of a file; null when the file is missing or larger than 1 MiB. */
  text(...path: string[]): Promise<string | null>;
}

export interface DatabaseFiles extends OwnPaths {
  readonly trees: OwnTrees;
  /** 0700, the database's own: its socket. */
  readonly run: string;
  /** Makes empty folders; the earlier content is removed. */
  makeAnew(): Promise<void>;
  /** Makes missing folders. */
  ensure(): Promise<void>;
  /** Writes a file that its programs may read but not change. Returns the whole path. */
  write(name: string, text: string): Promise<string>;
  /** Writes a file of its own into `data`, before anything of it has run. */
  writeData(name: string, text: string): Promise<void>;
  /** Gives all files to another uid while they are made; `handOver` ends that. */
  lend(uid: number | null): Promise<void>;
  handOver(): Promise<void>;
  /** Removes all. */
  remove(signal?: AbortSignal): Promise<void>;
}
