/**
 * Owns what people do to their own sign-in: password, second factor, sessions, and the second step of
 * signing in.
 *
 * 1. Wrong passwords are limited here as they are at sign-in.
 * 2. A new password ends every other session, and every sign-in that waits for its second step.
 * 3. A token reaches nothing here. None of it depends on a team, so people whom a team's policy keeps
 *    out can enrol.
 */
import { accountActor, directory } from '../../actors/account/protocol.ts';
import type { Actors } from '../../actors/runtime/actor.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { SecretBox } from '../../store/secrets.ts';
import { tables } from '../../store/records/tables.ts';
import { readUser, type User } from '../callers/account-reads.ts';
import type { Origin, RefusedSignIn, SignIn } from './sign-in.ts';
import type { AttemptLimits } from './attempt-limits.ts';
import { PasswordResets } from './password-resets.ts';
import type { Checked, Passwords } from './passwords.ts';
import { PendingSignIns, clearPendingCookie } from './pending-sign-ins.ts';
import type { Principal, SignedIn } from '../callers/principal.ts';
import { clearCookie } from '../callers/session-cookie.ts';
import { checkedPassword, emailKey } from './sign-in-input.ts';
import { TwoFactor } from './two-factor.ts';

export interface AccountSecurityOptions {
  reader: Reader;
  actors: Actors;
  clock: Clock;
  log: Logger;
  secrets: SecretBox;
  /** The folder of links that set a new password. */
  resetsDir: string;
  passwords: Passwords;
  /** The limits of signing in. */
  limits: AttemptLimits;
  /** Starts a session; `secondFactor`: whether the second factor was asked for and given. */
  startSession: (checked: Checked, origin: Origin, secondFactor: boolean) => Promise<SignIn>;
  /** Called for wrong codes. */
  onRefused?: RefusedSignIn;
}

export class AccountSecurity {
  readonly #options: AccountSecurityOptions;
  readonly #pending: PendingSignIns;
  readonly #twoFactor: TwoFactor;
  readonly #resets: PasswordResets;

  constructor(options: AccountSecurityOptions) {
    const { clock, secrets, resetsDir } = options;
    this.#options = options;
    this.#pending = new PendingSignIns(clock);
    this.#twoFactor = new TwoFactor(options);
    this.#resets = new PasswordResets({ dir: resetsDir, secrets, now: () => clock.now() });
  }

  /** What follows a right password when a second factor is needed. */
  awaitCode(checked: Checked, user: User, origin: Origin): SignIn {
    const cookie = this.#pending.begin(checked, origin.secure);
    return { user, requiresTwoFactor: true, cookies: [cookie] };
  }

  /**
   * The second step of signing in; the request carries the cookie of the first. UNAUTHENTICATED for a
   * wrong or used code and without the first step; RATE_LIMITED.
   */
  async verifyTwoFactorLogin(
    input: { code: string; recoveryCode: boolean; cookieHeader: string },
    origin: Origin,
  ): Promise<SignIn> {
    const pending = this.#pending.of(input.cookieHeader);
    const { userId, passwordHash } = pending;
    const user = readUser(this.#options.reader, userId);
    const isCurrent = this.#options.passwords.stored(userId) === passwordHash;
    if (!isCurrent || user?.twoFactorEnabled !== true) {
      this.#pending.end(pending);
      throw new ServiceError('UNAUTHENTICATED', 'Sign in with your password first.');
    }
    const kind = input.recoveryCode ? 'recovery' : 'app';
    const right = await this.#twoFactor.use(userId, { code: input.code, kind }, false);
    if (!right) {
      this.#pending.failed(pending);
      this.#options.log.info({ userId, address: origin.address }, 'second_factor_refused');
      this.#options.onRefused?.({ userId }, origin);
      throw new ServiceError('UNAUTHENTICATED', 'The code is wrong, or was used before.');
    }
    if (!this.#pending.end(pending)) {
      throw new ServiceError('UNAUTHENTICATED', 'Sign in with your password first.');
    }
    if (input.recoveryCode) {
      this.#options.log.info({ userId, address: origin.address }, 'recovery_code_used');
    }
    const signedIn = await this.#options.startSession(pending, origin, true);
    return { ...signedIn, cookies: [...signedIn.cookies, clearPendingCookie(origin.secure)] };
  }

  /** FORBIDDEN for a wrong password, CONFLICT when it is on, RATE_LIMITED. */
  async startTwoFactorEnrolment(
    principal: SignedIn,
    { password }: { password: string },
    origin: Origin,
  ): Promise<{ uri: string; recoveryCodes: string[] }> {
    const user = this.#userOf(principal);
    await this.#mustKnowPassword(user, password, origin);
    return await this.#twoFactor.start(user);
  }

  /** BAD_USER_INPUT for a wrong code, CONFLICT without an enrolment, RATE_LIMITED. */
  async confirmTwoFactorEnrolment(principal: SignedIn, { code }: { code: string }): Promise<void> {
    const { id: userId } = this.#userOf(principal);
    await this.#twoFactor.confirm(userId, code);
    this.#options.log.info({ userId }, 'two_factor_on');
  }

  /** By a code of the app or a recovery code. FORBIDDEN for a wrong one, CONFLICT when it is off. */
  async disableTwoFactor(
    principal: SignedIn,
    { password, code }: { password: string; code: string },
    origin: Origin,
  ): Promise<void> {
    const user = this.#userOf(principal);
    if (!user.twoFactorEnabled) throw new ServiceError('CONFLICT', 'Two-factor is not on.');
    await this.#mustKnowPassword(user, password, origin);
    if (!(await this.#twoFactor.use(user.id, { code, kind: 'either' }, true))) {
      throw new ServiceError('FORBIDDEN', 'The code is wrong, or was used before.');
    }
    this.#options.log.info({ userId: user.id, address: origin.address }, 'two_factor_off');
  }

  /** Ends all other sessions. FORBIDDEN for a wrong password, BAD_USER_INPUT, RATE_LIMITED. */
  async changePassword(
    principal: SignedIn,
    input: { currentPassword: string; newPassword: string },
    origin: Origin,
  ): Promise<void> {
    const { userId, sessionId } = personOf(principal);
    const user = this.#userOf(principal);
    const newPassword = checkedPassword(input.newPassword);
    const { passwordHash } = await this.#mustKnowPassword(user, input.currentPassword, origin);
    const changed = await this.#options.actors.ask(accountActor.at(directory), {
      type: 'password-set',
      userId,
      passwordHash: await this.#options.passwords.hash(newPassword, origin.address),
      seenHash: passwordHash,
      keepSessionId: sessionId,
      endTwoFactor: false,
    });
    if (!changed) throw new ServiceError('CONFLICT', 'The password was changed meanwhile.');
    this.#options.log.info({ userId, address: origin.address }, 'password_changed');
  }

  /**
   * Ends a session of the caller. Returns cookies that clear it when it is the caller's present one.
   * NOT_FOUND.
   */
  async revokeSession(principal: SignedIn, id: string, origin: Origin): Promise<string[]> {
    const { userId, sessionId } = personOf(principal);
    const session = this.#options.reader.get(tables.auth, ['session', id]);
    if (session?.fields['userId'] !== userId) {
      throw new ServiceError('NOT_FOUND', 'No such session.');
    }
    await this.#options.actors.ask(accountActor.at(directory), {
      type: 'session-end',
      sessionId: id,
    });
    return id === sessionId ? [clearCookie(origin.secure)] : [];
  }

  /** The person whom a link of `gangway reset-password` is for; null for a bad link. */
  async findReset(token: string): Promise<{ user: User; endsTwoFactor: boolean } | null> {
    const reset = await this.#resets.find(token);
    const user = reset && readUser(this.#options.reader, reset.userId);
    return user ? { user, endsTwoFactor: reset.endsTwoFactor } : null;
  }

  /** Sets a password by such a link and ends all sessions. NOT_FOUND, BAD_USER_INPUT. */
  async resetPassword(token: string, newPassword: string, origin: Origin): Promise<void> {
    const noLink = (): ServiceError =>
      new ServiceError('NOT_FOUND', 'This link was used, or is too old.');
    const found = await this.findReset(token);
    if (found === null) throw noLink();
    const { address } = origin;
    const passwordHash = await this.#options.passwords.hash(checkedPassword(newPassword), address);
    const reset = await this.#resets.claim(token);
    if (reset === null) throw noLink();
    const { userId, endsTwoFactor: endTwoFactor } = reset;
    await this.#options.actors.ask(accountActor.at(directory), {
      type: 'password-set',
      userId,
      passwordHash,
      seenHash: null,
      keepSessionId: null,
      endTwoFactor,
    });
    // A person who forgot the password has tried others.
    this.#options.limits.forgive(emailKey(found.user.email), address);
    this.#options.log.info({ userId, address, endTwoFactor }, 'password_reset');
  }

  #userOf(principal: SignedIn): User {
    const user = readUser(this.#options.reader, personOf(principal).userId);
    if (!user) throw new ServiceError('UNAUTHENTICATED', 'Sign in first.');
    return user;
  }

  async #mustKnowPassword(user: User, password: string, origin: Origin): Promise<Checked> {
    const { limits, passwords } = this.#options;
    const { address } = origin;
    const check = (): Promise<Checked | null> => passwords.checkOf(user.id, password, address);
    const checked = await limits.run(emailKey(user.email), address, check);
    if (checked === null) throw new ServiceError('FORBIDDEN', 'The password is wrong.');
    return checked;
  }
}

/** The person of a session; FORBIDDEN for a token, which never reaches the account it acts for. */
export function personOf(principal: SignedIn): Extract<Principal, { kind: 'person' }> {
  if (principal.kind === 'person') return principal;
  throw new ServiceError('FORBIDDEN', 'A token does not reach the account it acts for.');
}
