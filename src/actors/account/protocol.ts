/**
 * Owns the messages of the `account` actor: the only way to change people, their sessions and better-auth's
 * other records. There is one such actor, `accountActor.at(directory)`, because its decisions (the first
 * person, one use of a code) concern all accounts.
 */
import type { AuthRecord, TeamRecord } from '../../store/records/records.ts';
import { type Actor, actorKind } from '../runtime/actor.ts';
import type { Condition } from './match.ts';
import type { NewPerson } from './new-person.ts';

export const directory = 'directory';

/** A change of better-auth's records. Conditions are evaluated inside the actor, so none is stale. */
export type AuthWrite =
  | { op: 'create'; record: AuthRecord }
  | {
      op: 'update';
      model: string;
      where: Condition[];
      set: Record<string, unknown>;
      /** Names in `set` that are dates. */
      dates: string[];
      /** Added to numeric fields; an absent field counts as 0. */
      add: Record<string, number>;
      /** Whether only the first match is meant. */
      one: boolean;
      /**
       * The records that a transaction changed itself. If they differ now, the whole transaction is
       * refused.
       */
      seen?: string[];
    }
  | { op: 'delete'; model: string; where: Condition[]; one: boolean; seen?: string[] };

/** One answer for each write: the records after it; for a delete, before it. */
export type AuthWritten = Readonly<AuthRecord>[];

export interface FirstPerson extends NewPerson {
  teamId: string;
  teamName: string;
}

/** Proof of the second factor. Each can be used once. */
export type TwoFactorProof =
  { kind: 'step'; enrolment: string; step: number } | { kind: 'recovery'; hash: string };

// A type, not an interface: it has to be assignable to Protocol's index signature.
export type AccountProtocol = {
  /** All writes in one commit, or none. CONFLICT for an address that is taken, or for a lost race. */
  write: { in: { writes: AuthWrite[] }; out: AuthWritten[] };
  /** The first person, their team and its roles, in one commit. CONFLICT when done before. */
  setup: { in: { person: FirstPerson }; out: boolean };
  /** A team with its built-in roles and its first owner. BAD_USER_INPUT; CONFLICT at the limit. */
  'team-create': { in: { teamId: string; ownerId: string; name: string }; out: TeamRecord };
  /** Prolongs a session; an ended session stays ended. */
  'session-renew': { in: { sessionId: string; atMs: number; expiresAtMs: number }; out: boolean };
  /** Sets the session's current team; NOT_FOUND for a session that ended. */
  'session-team': { in: { sessionId: string; teamId: string }; out: boolean };
  /** Ends a session; false when it had ended before. */
  'session-end': { in: { sessionId: string }; out: boolean };
  /** Ends a person's expired sessions, and the longest unused beyond `keep`. Answers how many. */
  'sessions-trim': { in: { userId: string; keep: number }; out: number };
  /**
   * Sets a new password and ends the person's sessions, except one. False when the stored password is no
   * longer the checked one (`seenHash`; null when none was asked for).
   */
  'password-set': {
    in: {
      userId: string;
      passwordHash: string;
      seenHash: string | null;
      keepSessionId: string | null;
      /** Turns two-factor off, too. */
      endTwoFactor: boolean;
    };
    out: boolean;
  };
  /** Starts an enrolment, in place of an unconfirmed one. CONFLICT when two-factor is on. */
  'two-factor-start': {
    in: { userId: string; enrolment: string; sealed: Uint8Array; recoveryHashes: string[] };
    out: boolean;
  };
  /** Turns two-factor on; false when this enrolment was replaced, has expired or was confirmed before. */
  'two-factor-confirm': { in: { userId: string; enrolment: string; step: number }; out: boolean };
  /**
   * Uses a proof, and turns two-factor off if `end` says so. False when the proof, or for a code a later
   * time step, was used before.
   */
  'two-factor-use': { in: { userId: string; proof: TwoFactorProof; end: boolean }; out: boolean };
  /** When sessions were last used, written now and then. */
  'sessions-seen': { in: { uses: { sessionId: string; atMs: number }[] }; out: boolean };
};

/** The handlers of one concern. */
export type AccountHandlers = Partial<Actor<AccountProtocol>>;

export const accountActor = actorKind<AccountProtocol>('account');
