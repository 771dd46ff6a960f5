/**
 * Owns signing in and out: setup, login, and the acting team of a session.
 *
 * 1. An unknown address and a wrong password are answered alike, in the same time.
 * 2. Each sign-in is a new session; signing out ends it everywhere, before the answer leaves.
 * 3. A token never reaches the account it acts for.
 */
import { accountActor, directory } from '../../actors/account/protocol.ts';
import type { Actors } from '../../actors/runtime/actor.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { TeamRecord } from '../../store/records/records.ts';
import type { SecretBox } from '../../store/secrets.ts';
import { tables } from '../../store/records/tables.ts';
import { needsSetup, readUser } from '../callers/account-reads.ts';
import type { Origin, RefusedSignIn, SignIn } from './sign-in.ts';
import { isMember } from '../callers/acting-team.ts';
import { AccountSecurity, personOf } from './account-security.ts';
import { AttemptLimits } from './attempt-limits.ts';
import { type Checked, Passwords } from './passwords.ts';
import type { Principal, SignedIn } from '../callers/principal.ts';
import { Invitations } from './invitations.ts';
import { isSetupCode } from './typed-codes.ts';
import { clearCookie, keepCookie } from '../callers/session-cookie.ts';
import { checkedSetup, emailKey } from './sign-in-input.ts';
import type { SignInLibrary } from './sign-in-library.ts';

export interface AccountsOptions {
  reader: Reader;
  actors: Actors;
  clock: Clock;
  log: Logger;
  /** What cookies are signed with, 32 characters or more; the authenticator has the same. */
  secret: string;
  /** Seals what the second factor needs. */
  secrets: SecretBox;
  /** Where `gangway reset-password` leaves its links. */
  resetsDir: string;
  /** The code that a setup from another machine needs; printed at start. */
  setupCode: string;
  publicUrl: string;
  /** Called for sign-ins with a wrong password or code. */
  onRefused?: RefusedSignIn;
  /** How many sessions a person may have; the one unused for longest ends. Default 100. */
  sessionsMax?: number;
}

export class Accounts {
  readonly #options: AccountsOptions;
  readonly #limits: AttemptLimits;
  readonly #codeLimits: AttemptLimits;
  readonly #passwords: Passwords;
  readonly security: AccountSecurity;
  readonly invitations: Invitations;
  #library: Promise<SignInLibrary> | null = null;

  constructor(options: AccountsOptions) {
    this.#options = options;
    this.#limits = new AttemptLimits(options.clock);
    this.#codeLimits = new AttemptLimits(options.clock);
    this.#passwords = new Passwords(options.reader, () => this.#open());
    this.invitations = new Invitations({
      ...options,
      hashPassword: (password, address) => this.#passwords.hash(password, address),
      startSession: (person, origin) => this.#startSession(person, origin, false),
    });
    this.security = new AccountSecurity({
      ...options,
      passwords: this.#passwords,
      limits: this.#limits,
      startSession: (...session) => this.#startSession(...session),
    });
  }

  /** SETUP_CODE_REQUIRED off loopback, CONFLICT when done before, BAD_USER_INPUT. */
  async completeSetup(
    input: {
      email: string;
      password: string;
      name: string;
      teamName: string;
      setupCode: string | null;
    },
    origin: Origin,
  ): Promise<SignIn> {
    if (!needsSetup(this.#options.reader))
      throw new ServiceError('CONFLICT', 'This instance has been set up.');
    if (!origin.fromLoopback) await this.#mustKnowCode(input.setupCode, origin);
    const { email, password, name, teamName } = checkedSetup(input);
    const passwordHash = await this.#passwords.hash(password, origin.address);
    const userId = newId('usr');
    const person = { userId, email, name, passwordHash, teamId: newId('team'), teamName };
    await this.#options.actors.ask(accountActor.at(directory), { type: 'setup', person });
    this.#options.log.info({ userId, address: origin.address }, 'setup_completed');
    return await this.#startSession({ userId, passwordHash }, origin, false);
  }

  /**
   * UNAUTHENTICATED, with the same answer for an unknown address and a wrong password; RATE_LIMITED.
   */
  async login(input: { email: string; password: string }, origin: Origin): Promise<SignIn> {
    const checked = await this.#limits.run(emailKey(input.email), origin.address, () =>
      this.#passwords.check(input.email, input.password, origin.address),
    );
    const user = checked && readUser(this.#options.reader, checked.userId);
    if (!user) {
      this.#options.log.info({ address: origin.address }, 'sign_in_refused');
      this.#options.onRefused?.({ email: input.email }, origin);
      throw new ServiceError('UNAUTHENTICATED', 'The address or the password is wrong.');
    }
    if (user.twoFactorEnabled) return this.security.awaitCode(checked, user, origin);
    return await this.#startSession(checked, origin, false);
  }

  /** Ends the session; the cookies that clear it. */
  async logout(principal: Principal, origin: Origin): Promise<string[]> {
    const gone = [clearCookie(origin.secure)];
    if (principal.kind === 'anonymous') return gone;
    const { sessionId } = personOf(principal);
    await this.#options.actors.ask(accountActor.at(directory), { type: 'session-end', sessionId });
    return gone;
  }

  async switchTeam(principal: SignedIn, teamId: string): Promise<TeamRecord> {
    const { reader, actors } = this.#options;
    const { sessionId, userId } = personOf(principal);
    const team = reader.get(tables.teams, teamId);
    if (!team || !isMember(reader, userId, teamId)) {
      throw new ServiceError('FORBIDDEN', 'You are not in this team.');
    }
    await actors.ask(accountActor.at(directory), { type: 'session-team', sessionId, teamId });
    return team;
  }

  /**
   * A new session for a person who proved enough. Whether the sign-in changed meanwhile is checked once
   * the session is there.
   */
  async #startSession(
    { userId, passwordHash }: Checked,
    origin: Origin,
    secondFactor: boolean,
  ): Promise<SignIn> {
    const { reader, actors, sessionsMax = 100 } = this.#options;
    const library = await this.#open();
    const { sessionId, cookie } = await library.startSession(userId, origin);
    const user = readUser(reader, userId);
    const proved = this.#passwords.stored(userId) === passwordHash;
    if (!user || !proved || user.twoFactorEnabled !== secondFactor) {
      await actors.ask(accountActor.at(directory), { type: 'session-end', sessionId });
      throw new ServiceError('UNAUTHENTICATED', 'Your sign-in changed meanwhile; sign in again.');
    }
    const trim = { type: 'sessions-trim', userId, keep: sessionsMax } as const;
    await actors.ask(accountActor.at(directory), trim);
    return { user, requiresTwoFactor: false, cookies: [keepCookie(cookie, origin.secure)] };
  }

  async #mustKnowCode(given: string | null, origin: Origin): Promise<void> {
    if (given === null || given === '') {
      throw new ServiceError('SETUP_CODE_REQUIRED', 'Give the setup code printed at start.');
    }
    const right = await this.#codeLimits.run('setup', origin.address, () =>
      Promise.resolve(isSetupCode(given, this.#options.setupCode)),
    );
    if (!right) throw new ServiceError('SETUP_CODE_REQUIRED', 'The setup code is wrong.');
  }

  #open(): Promise<SignInLibrary> {
    this.#library ??= import('./sign-in-library.ts')
      .then((module) => module.openSignInLibrary(this.#options))
      .catch((thrown: unknown) => {
        // The next sign-in tries again.
        this.#library = null;
        throw thrown;
      });
    return this.#library;
  }
}
