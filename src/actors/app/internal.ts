/**
 * Owns the messages the app actor is told by parts of our own, and the type that joins them with the
 * public ones.
 */
import type { Workload } from '../../protocol/workload.ts';
import type { Actor } from '../runtime/actor.ts';
import type { AppProtocol } from './protocol.ts';

type InnerMessages = {
  /** The queue: a build slot is there for it. */
  'build-turn': { in: { deploymentId: string }; out: boolean };
  /** The driver says that a workload of this app changed. */
  workload: { in: { workload: Workload }; out: boolean };
  /** All workloads of this app the driver has. */
  workloads: { in: { workloads: Workload[] }; out: boolean };
  /** An alarm: what should run and does not is started again. */
  recover: { in: object; out: boolean };
};

export type AppMessages = AppProtocol & InnerMessages;
export type AppHandlers = Actor<AppMessages>['handlers'];
/** The handlers of one concern. */
export type Handlers<T extends keyof AppMessages> = Pick<AppHandlers, T>;
