/** Owns the messages that change how a person signs in: password, two-factor, sessions. */

/** What proves the second factor, each good for once. */
export type TwoFactorProof =
  { kind: 'step'; enrolment: string; step: number } | { kind: 'recovery'; hash: string };

// A type, not an interface: it has to be assignable to Protocol's index signature.
export type SecurityProtocol = {
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

/** How long a started enrolment waits for its code. */
export const enrolmentMs = 15 * 60 * 1_000;
