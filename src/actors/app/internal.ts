/**
 * Owns the messages the app actor sends itself, by way of its own work and of `watch.ts`, and the
 * type that joins them with the public ones.
 */
import type { Workload } from '../../protocol/workload.ts';
import type {
  AppCrashes,
  AppRecord,
  DeploymentRecord,
  Instance,
  ReleasePlan,
} from '../../store/records/records.ts';
import type { Actor } from '../runtime/actor.ts';
import type { AppProtocol } from './protocol.ts';

/**
 * Work reports with the epoch of the activation that owns it: what comes from an earlier one is
 * dropped, because the present one has picked the work up again.
 */
interface Report {
  epoch: number;
}

type OwnMessages = {
  /** Picks up what an earlier activation left. */
  resume: { in: Report; out: boolean };
  /** The work on a deployment or on a start has returned: the next may begin. */
  'work-done': { in: Report; out: boolean };
  /** The queue: a build slot is there for it. Without an epoch: it may wake the actor. */
  'build-turn': { in: { deploymentId: string }; out: boolean };
  /** Leaves the queue: null when it may not now (canceled, or an upload runs). */
  'deploy-begin': {
    in: Report & { deploymentId: string };
    out: { app: AppRecord; deployment: DeploymentRecord } | null;
  };
  /** How it is built is decided; journaled before the build job starts. */
  'deploy-planned': {
    in: Report & { deploymentId: string; plan: ReleasePlan; buildJob: string | null };
    out: boolean;
  };
  'deploy-built': {
    in: Report & { deploymentId: string; plan: ReleasePlan };
    out: boolean;
  };
  'deploy-ready': { in: Report & { deploymentId: string }; out: boolean };
  'deploy-failed': { in: Report & { deploymentId: string; error: string }; out: boolean };
  /** Names an instance before the driver is told of it. Null: it is not wanted any more. */
  'instance-next': {
    in: Report & {
      deploymentId: string;
      port: number;
      image: string | null;
      /** Of a compose file: its main service, and the others by where they stand in their order. */
      stack: { main: string; others: { service: string; at: number; image: string }[] } | null;
    };
    out: Instance | null;
  };
  /** The live instance ends before the next begins: they would share their volumes. */
  'instance-yield': { in: Report & { deploymentId: string }; out: boolean };
  /** Healthy: the traffic goes there from now on. */
  'instance-live': {
    in: Report & {
      workloadId: string;
      host: string;
      port: number;
      startedAtMs: number;
      /** Ends of its workloads before. */
      counted: AppCrashes['counted'];
    };
    out: boolean;
  };
  /** A start outside any deployment came to nothing. */
  'instance-failed': { in: Report & { error: string }; out: boolean };
  'instance-stopped': { in: Report & { workloadId: string }; out: boolean };
  'instance-recovered': { in: Report & { workloadId: string; startedAtMs: number }; out: boolean };
  /** The driver says that a workload of this app changed. */
  workload: { in: { workload: Workload }; out: boolean };
  /** All workloads of this app the driver has. */
  workloads: { in: { workloads: Workload[] }; out: boolean };
  /** An alarm: what should run and does not is started again. */
  recover: { in: object; out: boolean };
};

export type AppMessages = AppProtocol & OwnMessages;
export type AppHandlers = Actor<AppMessages>['handlers'];
/** The handlers of one concern. */
export type Handlers<T extends keyof AppMessages> = Pick<AppHandlers, T>;
