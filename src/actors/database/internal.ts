/**
 * Owns the messages the database actor sends itself, by way of its own work and of the watch over the
 * driver, and the type that joins them with the public ones.
 */
import type { Workload } from '../../protocol/workload.ts';
import type { Actor } from '../runtime/actor.ts';
import { actorKind } from '../runtime/actor.ts';
import { databaseActor, type DatabaseProtocol } from './protocol.ts';

/** Of the activation that owns the work: what comes from an earlier one is dropped. */
interface Report {
  epoch: number;
}

type OwnMessages = {
  resume: { in: Report; out: boolean };
  /** The start under way is over. */
  'work-done': { in: Report; out: boolean };
  /** Names the job that makes the files. Null: it is not wanted any more. */
  'init-named': { in: Report; out: string | null };
  /** Names the server before the driver is told of it; `version` is what runs. */
  'server-named': {
    in: Report & { port: number; image: string | null; version: string };
    out: string | null;
  };
  /** The server that was named is not to be waited for: it ends, before another one is named. */
  'server-left': { in: Report; out: boolean };
  /** It answers, and its user and database are there. */
  started: { in: Report & { workloadId: string }; out: boolean };
  'start-failed': { in: Report & { error: string }; out: boolean };
  /** The driver has forgotten a workload. */
  gone: { in: Report & { workloadId: string }; out: boolean };
  /** One that had ended by itself answers again, and runs since then. */
  recovered: { in: Report & { workloadId: string; startedAtMs: number }; out: boolean };
  /** What it said as it ended is in the error. */
  said: {
    in: Report & { workloadId: string; exitedAtMs: number; error: string };
    out: boolean;
  };
  /** The driver says that a workload of this database changed. */
  workload: { in: { workload: Workload }; out: boolean };
  /** All workloads of this database the driver has. */
  workloads: { in: { workloads: Workload[] }; out: boolean };
  /** Goes on with a rotation that the server has not taken yet. */
  rotation: { in: object; out: boolean };
  /** An alarm: the server has another password, and the apps that refer to it are told. */
  rotated: { in: object; out: boolean };
  /** An alarm: what should run and does not is started again. */
  recover: { in: object; out: boolean };
};

export type DatabaseMessages = DatabaseProtocol & OwnMessages;
export type DatabaseHandlers = Actor<DatabaseMessages>['handlers'];
/** The handlers of one concern. */
export type Handlers<T extends keyof DatabaseMessages> = Pick<DatabaseHandlers, T>;

/** `databaseActor` with the messages it sends itself; outsiders use `databaseActor`. */
export const databaseActorInside = actorKind<DatabaseMessages>(databaseActor.kind);
