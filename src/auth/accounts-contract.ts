/**
 * Owns what the API may ask of accounts, sessions and tokens. Behind it stand better-auth on our
 * own adapter (slow path: sign-in) and the token and session look-ups (hot path).
 */
import type { Capability } from '../lib/capabilities.ts';
import type { MemberRecord, TeamRecord, TokenRecord } from '../store/records.ts';
import type { Principal, SignedIn } from './principal.ts';

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

export interface SignIn {
  user: User;
  requiresTwoFactor: boolean;
  /** Values for `Set-Cookie`. */
  cookies: string[];
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

export interface Accounts {
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
  createToken(
    principal: SignedIn,
    input: NewToken,
  ): Promise<{ token: TokenRecord; secret: string }>;
  revokeToken(principal: SignedIn, tokenId: string): Promise<boolean>;
  close(): Promise<void>;
}

/** What is read of accounts on any thread. */
export interface AccountReads {
  user(userId: string): User | undefined;
  memberships(userId: string): readonly Readonly<MemberRecord>[];
}

export interface Credentials {
  cookieHeader: string;
  authorization: string;
  /** `X-Service-Team`: id or slug; '' for none. */
  team: string;
  address: string;
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
