/**
 * Owns the messages of the `account` actor: the only way people, their sessions and whatever else
 * better-auth keeps change. There is one, `accountActor.at(directory)`: what it decides (the first
 * person, one redemption of a code) is decided among all accounts.
 */
import type { AuthRecord, TeamRecord } from '../../store/records/records.ts';
import { type Actor, actorKind } from '../runtime/actor.ts';
import type { Condition } from './match.ts';
import type { NewPerson } from './new-person.ts';

export const directory = 'directory';

/** A change of better-auth's records; conditions are weighed inside the actor, so none is stale. */
export type AuthWrite =
  | { op: 'create'; record: AuthRecord }
  | {
      op: 'update';
      model: string;
      where: Condition[];
      set: Record<string, unknown>;
      /** Names in `set` that are dates. */
      dates: string[];
      /** Added to numeric fields; an absent one counts as 0. */
      add: Record<string, number>;
      /** Whether only the first match is meant. */
      one: boolean;
      /** What a transaction saw itself change; anything else by now refuses the whole of it. */
      seen?: string[];
    }
  | { op: 'delete'; model: string; where: Condition[]; one: boolean; seen?: string[] };

/** One answer a write: the records as they are now; for a delete as they last were. */
export type AuthWritten = Readonly<AuthRecord>[];

export interface FirstPerson extends NewPerson {
  teamId: string;
  teamName: string;
}

/** What proves the second factor, each good for once. */
export type TwoFactorProof =
  { kind: 'step'; enrolment: string; step: number } | { kind: 'recovery'; hash: string };

// A type, not an interface: it has to be assignable to Protocol's index signature.
export type AccountProtocol = {
  /** All writes in one commit, or none. CONFLICT for an address taken, or for a lost race. */
  write: { in: { writes: AuthWrite[] }; out: AuthWritten[] };
  /** The first person, their team and its roles, in one commit. CONFLICT when done before. */
  setup: { in: { person: FirstPerson }; out: boolean };
  /** A team with its built-in roles and its first owner. BAD_USER_INPUT, CONFLICT at the bound. */
  'team-create': { in: { teamId: string; ownerId: string; name: string }; out: TeamRecord };
  /** Lets a session live on; one that ended stays ended. */
  'session-renew': { in: { sessionId: string; atMs: number; expiresAtMs: number }; out: boolean };
  /** The session's current team; NOT_FOUND for a session that ended. */
  'session-team': { in: { sessionId: string; teamId: string }; out: boolean };
  /** Ends a session; false when it had ended before. */
  'session-end': { in: { sessionId: string }; out: boolean };
  /** Ends a person's expired sessions, and the longest unused beyond `keep`; how many. */
  'sessions-trim': { in: { userId: string; keep: number }; out: number };
  /**
   * A new password; ends the person's sessions, but for one. False when the password is no longer
   * the one that was checked (`seenHash`; null when none was asked for).
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
  /** An enrolment to be confirmed, in the place of one that was not. CONFLICT when it is on. */
  'two-factor-start': {
    in: { userId: string; enrolment: string; sealed: Uint8Array; recoveryHashes: string[] };
    out: boolean;
  };
  /** Turns it on; false when this enrolment was replaced, has expired or was confirmed before. */
  'two-factor-confirm': { in: { userId: string; enrolment: string; step: number }; out: boolean };
  /**
   * Uses a proof up, and turns two-factor off by it where `end` says so. False when it was used
   * before: a step also by a later one.
   */
  'two-factor-use': { in: { userId: string; proof: TwoFactorProof; end: boolean }; out: boolean };
  /** When sessions were last used, written now and then. */
  'sessions-seen': { in: { uses: { sessionId: string; atMs: number }[] }; out: boolean };
};

/** The handlers of one concern. */
export type AccountHandlers = Partial<Actor<AccountProtocol>>;

export const accountActor = actorKind<AccountProtocol>('account');
