/**
 * Owns the messages the database actor is told by parts of our own, and the type that joins them with
 * the public ones.
 */
import type { Workload } from '../../protocol/workload.ts';
import type { Actor } from '../runtime/actor.ts';
import { actorKind } from '../runtime/actor.ts';
import { databaseActor, type DatabaseProtocol } from './protocol.ts';

type InnerMessages = {
  /** The driver says that a workload of this database changed. */
  workload: { in: { workload: Workload }; out: boolean };
  /** All workloads of this database the driver has. */
  workloads: { in: { workloads: Workload[] }; out: boolean };
  /** An alarm: goes on with a rotation that the server has not taken yet. */
  rotation: { in: object; out: boolean };
  /** An alarm: the server has another password, and the apps that refer to it are told. */
  rotated: { in: object; out: boolean };
  /** An alarm: what should run and does not is started again. */
  recover: { in: object; out: boolean };
};

export type DatabaseMessages = DatabaseProtocol & InnerMessages;
export type DatabaseHandlers = Actor<DatabaseMessages>['handlers'];
/** The handlers of one concern. */
export type Handlers<T extends keyof DatabaseMessages> = Pick<DatabaseHandlers, T>;

/** `databaseActor` with these messages; outsiders use `databaseActor`. */
export const databaseActorInside = actorKind<DatabaseMessages>(databaseActor.kind);
