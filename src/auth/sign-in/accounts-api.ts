/**
 * Owns what the API may ask of accounts, sessions and tokens. Behind it stand better-auth on our
 * own adapter (slow path: sign-in) and the token and session look-ups (hot path).
 */
import type { Capability } from '../../lib/capabilities.ts';
import type { MemberRecord, TeamRecord, TokenRecord } from '../../store/records/records.ts';
import type { Principal, SignedIn } from '../callers/principal.ts';

export interface User {
  id: string;
  email: string;
  name: string;
  isInstanceAdmin: boolean;
  twoFactorEnabled: boolean;
}

/** Where a request comes from; decides limits, the setup code and the cookie's flags. */
export interface Origin {
  address: string;
  fromLoopback: boolean;
  secure: boolean;
  userAgent: string;
}

/** A sign-in with a wrong password or code: whose it was, by what was typed or by who it is. */
export type RefusedSignIn = (who: { email: string } | { userId: string }, origin: Origin) => void;

export interface SignIn {
  user: User;
  requiresTwoFactor: boolean;
  /** Values for `Set-Cookie`. */
  cookies: string[];
}

/** What the holder of an invite's link learns before joining. */
export interface InviteView {
  email: string;
  teamName: string;
  roleName: string;
  /** Whether somebody has to sign in instead of making an account. */
  hasAccount: boolean;
}

export interface NewToken {
  name: string;
  capabilities: Capability[];
  teamIds: string[];
  folderIds: string[];
  appIds: string[];
  databaseIds: string[];
  expiresAtMs: number | null;
}

/** What people do to the own sign-in. Each is FORBIDDEN for a token. */
export interface SignInSecurity {
  /**
   * The second step of signing in, for who carries the cookie of the first. UNAUTHENTICATED for a
   * wrong or used code and without the first step; RATE_LIMITED.
   */
  verifyTwoFactorLogin(
    input: { code: string; recoveryCode: boolean; cookieHeader: string },
    origin: Origin,
  ): Promise<SignIn>;
  /** FORBIDDEN for a wrong password, CONFLICT when it is on, RATE_LIMITED. */
  startTwoFactorEnrolment(
    principal: SignedIn,
    input: { password: string },
    origin: Origin,
  ): Promise<{ uri: string; recoveryCodes: string[] }>;
  /** BAD_USER_INPUT for a wrong code, CONFLICT without an enrolment, RATE_LIMITED. */
  confirmTwoFactorEnrolment(principal: SignedIn, input: { code: string }): Promise<void>;
  /** By a code of the app or a recovery code. FORBIDDEN for a wrong one, CONFLICT when it is off. */
  disableTwoFactor(
    principal: SignedIn,
    input: { password: string; code: string },
    origin: Origin,
  ): Promise<void>;
  /** Ends all other sessions. FORBIDDEN for a wrong password, BAD_USER_INPUT, RATE_LIMITED. */
  changePassword(
    principal: SignedIn,
    input: { currentPassword: string; newPassword: string },
    origin: Origin,
  ): Promise<void>;
  /** Ends a session of the own; the cookies that clear it when it is the caller's. NOT_FOUND. */
  revokeSession(principal: SignedIn, sessionId: string, origin: Origin): Promise<string[]>;
  /** Whom a link of `gangway reset-password` is for; null for one that is not good. */
  findReset(token: string): Promise<{ user: User; endsTwoFactor: boolean } | null>;
  /** Sets a password by such a link and ends all sessions. NOT_FOUND, BAD_USER_INPUT. */
  resetPassword(token: string, newPassword: string, origin: Origin): Promise<void>;
}

export interface Accounts {
  readonly security: SignInSecurity;
  needsSetup(): boolean;
  /** SETUP_CODE_REQUIRED off loopback, CONFLICT when done before, BAD_USER_INPUT. */
  completeSetup(
    input: {
      email: string;
      password: string;
      name: string;
      teamName: string;
      setupCode: string | null;
    },
    origin: Origin,
  ): Promise<SignIn>;
  /** UNAUTHENTICATED, the same for an unknown address and a wrong password; RATE_LIMITED. */
  login(input: { email: string; password: string }, origin: Origin): Promise<SignIn>;
  /** Ends the session; the cookies that clear it. */
  logout(principal: Principal, origin: Origin): Promise<string[]>;
  switchTeam(principal: SignedIn, teamId: string): Promise<TeamRecord>;
  /** The token of the link. FORBIDDEN beyond the own power, NOT_FOUND, BAD_USER_INPUT, CONFLICT. */
  inviteMember(principal: SignedIn, input: { email: string; roleId: string }): Promise<string>;
  /** NOT_FOUND for whatever is wrong with it; RATE_LIMITED. */
  viewInvite(token: string, origin: Origin): InviteView;
  /** Makes an account or joins who is signed in. NOT_FOUND, RATE_LIMITED, CONFLICT, BAD_USER_INPUT. */
  acceptInvite(
    principal: Principal,
    input: { token: string; name: string | null; password: string | null },
    origin: Origin,
  ): Promise<SignIn>;
  createToken(
    principal: SignedIn,
    input: NewToken,
  ): Promise<{ token: TokenRecord; secret: string }>;
  revokeToken(principal: SignedIn, tokenId: string): Promise<boolean>;
  close(): Promise<void>;
}

/** A team that requires two-factor of somebody who has none. */
export interface AskingTeam {
  name: string;
  /** Null: it is due, and the person is kept out. */
  graceUntilMs: number | null;
}

/** What is read of accounts on any thread. */
export interface AccountReads {
  user(userId: string): User | undefined;
  /** The teams of a person that ask for the two-factor which that person lacks. */
  askingTwoFactor(userId: string): AskingTeam[];
  memberships(userId: string): readonly Readonly<MemberRecord>[];
}

export interface Credentials {
  cookieHeader: string;
  authorization: string;
  /** `X-Service-Team`: id or slug; '' for none. */
  team: string;
  address: string;
  /** What the token must be good for; default `api`. One for the API is good for MCP as well. */
  audience?: 'api' | 'mcp';
}

/** The hot path: microseconds, no await, revocation at once. */
export interface Authenticator {
  /**
   * The principal behind the session cookie: anonymous for none or a stale one; BAD_REQUEST for two
   * cookies of the name; FORBIDDEN for a team the person is not in.
   */
  byCookie(credentials: Credentials): Principal;
  /** The principal behind `Authorization: Bearer`: UNAUTHENTICATED for anything unusable. */
  byToken(credentials: Credentials): SignedIn;
  /** Whether a principal resolved before would still be resolved now; for open streams. */
  stillValid(principal: Principal): boolean;
}

/** The sliding of sessions; for transports that answer a browser. */
export interface SessionRenewal {
  /**
   * A `Set-Cookie` that keeps the session cookie for another seven days, once a day; null when it
   * is not due. Call it after `byCookie` gave a person.
   */
  renew(credentials: Credentials, secure: boolean): string | null;
}
