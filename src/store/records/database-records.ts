/** Owns the shapes of what is stored of databases. */
import type { Resources } from '../../protocol/workload.ts';

// prettier-ignore
export const databaseEngines = [
  'POSTGRES', 'MYSQL', 'MARIADB', 'MONGODB', 'REDIS', 'CLICKHOUSE',
] as const;
export type DatabaseEngine = (typeof databaseEngines)[number];
export type DatabaseStatus = 'provisioning' | 'running' | 'stopped' | 'error';

export interface DatabaseRecord {
  id: string;
  teamId: string;
  name: string;
  engine: DatabaseEngine;
  /** Of the engine, as it was made: on a driver of containers the tag of its image. */
  version: string;
  status: DatabaseStatus;
  /** A sentence on what keeps it from running; null while nothing does. */
  error: string | null;
  folderId: string | null;
  serverId: string;
  resources: Resources;
  /** Empty where the engine has none. */
  databaseName: string;
  username: string;
  passwordSealed: Uint8Array;
  /** On its way into the server; null when it is not. */
  nextPasswordSealed: Uint8Array | null;
  /** Those before it, the newest first, by which they are found in older lines of logs; absent: none. */
  retiredSealed?: Uint8Array[];
  /** Of the engine's own administrator, which nobody is told. */
  adminSealed: Uint8Array;
  run: DatabaseRun;
  desired: 'running' | 'stopped';
  /** Own uid of its processes, where the instance runs as root. */
  uid: number;
  createdAtMs: number;
  updatedAtMs: number;
  /** In trash since; null when it is not. */
  deletedAtMs: number | null;
}

/** What runs of a database, journaled before the driver is told of it. */
export interface DatabaseRun {
  /** Counts the workloads ever named. */
  seq: number;
  /** Its files, its user and its database are there. Until then each start begins anew. */
  made: boolean;
  /** The job that makes its files. */
  initJob: string | null;
  /** Answers its clients. */
  live: string | null;
  /** Is being started. */
  next: string | null;
  /** Workloads on their way out. */
  ending: string[];
  /** The port of this machine it is reached at, kept over restarts; null before the first. */
  port: number | null;
  /** On a driver of containers, what it runs in, as the driver named it; null before. */
  image: string | null;
  /** Ended by itself and does not answer again yet. */
  crashing: boolean;
}
