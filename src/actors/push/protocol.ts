/**
 * Owns the messages of the `push` actor of an app: pushes to it come one after the other. The sender's rights were
 * checked before.
 */
import type { DeploymentRecord } from '../../store/records/records.ts';
import { actorKind } from '../runtime/actor.ts';

export interface PushOutcome {
  /** What git says of it, for the client's git. */
  report: Uint8Array;
  /** Null: the push did not change the app's branch. */
  deployment: DeploymentRecord | null;
  /** A sentence for people; null: none. */
  note: string | null;
}

// A type, not an interface: it has to be assignable to Protocol's index signature.
export type PushProtocol = {
  /** The branches there are, as git tells them. CONFLICT: the app takes no pushes. */
  refs: { in: object; out: Uint8Array };
  /**
   * Takes what arrived as `<pushes>/<app>/<pushId>`, and removes it. Nothing is taken or deployed after `untilMs`, when
   * nobody waits for it any more. CONFLICT, GIT_FAILED.
   */
  receive: { in: { pushId: string; untilMs: number }; out: PushOutcome };
};

export const pushActor = actorKind<PushProtocol>('push');
