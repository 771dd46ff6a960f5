/** Owns what crosses the link about a place on another server: its machine, the files there, and connections. */

export const placeCalls = {
  /** What the machine is like: `MachineFacts`. */
  machine: 'place.machine',
  /** `AppFilesRequest`. */
  app: 'place.app',
  /** `SourceLook`: whether it is there. */
  source: 'place.source',
  /** `DatabaseFilesRequest`. */
  database: 'place.database',
  /** `ToolsRequest`. */
  tools: 'place.tools',
  /** `ExchangeRequest`. */
  exchange: 'place.exchange',
} as const;

export const placeStreams = {
  /** `UnpackHead`, then the archive; answered with one frame, `UnpackAnswer`. */
  unpack: 'place.unpack',
  /** `TreeHead`; answered with frames: the bytes of a tar, and in the end `{ missed }`, or `{ error }`. */
  pack: 'place.pack',
  /** `TreeHead`, then a tar; answered with one frame, null or `{ error }`. */
  fill: 'place.fill',
  /** `SourceLook`; answered with a `streamMark`, then the text. */
  text: 'place.text',
  /** `ConnectHead`; answered with a `streamMark`, then the bytes of both sides, or the name of the system's error. */
  connect: 'place.connect',
} as const;

/** The first byte of an answer. */
export const streamMark = { there: 1, not: 0 } as const;

export interface MachineFacts {
  /** The folders of apps and databases lie below it. */
  appsRoot: string;
  hasOwnUids: boolean;
  namedUid: number | null;
  toolchain: { path: readonly string[]; node: string; staticServer: string; nodeVersion: string };
  buildEnv: Readonly<Record<string, string>>;
  /** Of its programs. */
  path: readonly string[];
}

export interface OwnerMessage {
  id: string;
  uid: number | null;
}

export type AppFilesRequest = { owner: OwnerMessage } & (
  | { op: 'ensure' | 'remove' }
  | { op: 'empty' | 'drop'; release: string }
  | { op: 'keep'; releases: readonly string[] }
);

export interface SourceLook {
  owner: OwnerMessage;
  release: string;
  path: readonly string[];
  /** Of `place.source`. */
  kind: 'file' | 'folder';
}

export interface UnpackHead {
  owner: OwnerMessage;
  release: string;
  format: string;
  sizeBytes: number;
  keepsSoleFolder: boolean;
  isOurs: boolean;
}

export interface TreesOwner {
  kind: 'app' | 'database';
  owner: OwnerMessage;
}

export interface TreeHead extends TreesOwner {
  /** `data`, or the name of a release. */
  tree: string;
  /** To `pack`, of what any archive may hold alone; absent: all, faithfully. */
  prefix?: string;
  /** To `pack` a base backup of this engine. */
  of?: 'POSTGRES';
  /** To `fill`: beside the live data, of any archive. */
  isBeside?: true;
}

export type ExchangeStep =
  | { op: 'exchange' }
  /** Whether there is one. */
  | { op: 'hasPrevious' }
  | { op: 'settle'; data: 'live' | 'previous' };

export type ExchangeRequest = TreesOwner & ExchangeStep;

export type UnpackAnswer =
  | { entries: number; bytes: number }
  /** A `PlainServiceError`. */
  | { error: unknown };

export type DatabaseFilesRequest = { owner: OwnerMessage } & (
  | { op: 'makeAnew' | 'ensure' | 'handOver' | 'remove' }
  | { op: 'write' | 'writeData'; name: string; text: string }
  | { op: 'lend'; uid: number | null }
);

export type ToolsRequest =
  | { op: 'find'; names: readonly string[]; folders: readonly string[] }
  | { op: 'ask'; program: string; args: readonly string[] }
  | { op: 'ownPostgres' | 'packagedPostgres' | 'sqlPrompt' };

export type ConnectHead = { workload: string } & (
  { host: string; port: number } | { path: string }
);
