/** Owns what a restore needs of the actor of its target. */
import type { ActorContext, Protocol } from '../runtime/actor.ts';
import type { WorkloadDeps } from '../workload/deps.ts';
import type { HeldFor } from './held.ts';

export interface RestoreCore {
  readonly id: string;
  readonly kind: { name: 'app' | 'database' };
  readonly context: Pick<
    ActorContext<Protocol>,
    'afterCommit' | 'commit' | 'ended' | 'report' | 'work'
  >;
  readonly deps: Pick<WorkloadDeps, 'clock' | 'logger' | 'reader' | 'restores'>;
  /** The record, unless it is in trash; else NOT_FOUND. */
  require(): { id: string; teamId: string };
  /** Resolves when the latest change of the record is durable. */
  readonly durable: Promise<void>;
  readonly isHeld: boolean;
  readonly heldFor: HeldFor | null;
  hold(): void;
  letGo(): void;
}
