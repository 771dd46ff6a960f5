/**
 * Owns the messages of the `destination` actor: the only way to change a destination of backups. The sender's
 * rights were checked before; the actor checks the state.
 */
import type { DestinationKind, DestinationRecord } from '../../store/records/records.ts';
import { actorKind } from '../runtime/actor.ts';

export interface NewDestination {
  name: string;
  kind: DestinationKind;
  path: string | null;
  endpoint: string | null;
  bucket: string | null;
  region: string | null;
  accessKey: string | null;
  secretKey: string | null;
  encrypt: boolean;
}

export interface TestVerdict {
  ok: boolean;
  error: string | null;
}

// A type, not an interface: it has to be assignable to Protocol's index signature.
export type DestinationProtocol = {
  /** The actor's id is the new destination's. Refused: BAD_USER_INPUT; DESTINATION_FAILED without its folder. */
  create: { in: { teamId: string; destination: NewDestination }; out: DestinationRecord };
  /** Writes, reads and removes an object, and stores what came of it. */
  test: { in: object; out: TestVerdict };
  /** What is kept there stays. */
  delete: { in: object; out: boolean };
  /** What opens its backups. CONFLICT where they are not encrypted. */
  'recovery-key': { in: object; out: string };
};

export const destinationActor = actorKind<DestinationProtocol>('destination');
