/** Owns the messages of the `instance` actor: the only way the instance's settings change. */
import type { InstanceRecord } from '../../store/records/records.ts';
import { actorKind } from '../runtime/actor.ts';

/** Absent means unchanged. */
export interface InstancePatch {
  logMaxDays?: number;
  publicUrl?: string;
}

// A type, not an interface: it has to be assignable to Protocol's index signature.
export type InstanceProtocol = {
  /** Refused: BAD_USER_INPUT; CONFLICT before the instance is set up. */
  update: { in: { patch: InstancePatch }; out: InstanceRecord };
};

/** There is one: `instanceActor.at('instance')`. */
export const instanceActor = actorKind<InstanceProtocol>('instance');
