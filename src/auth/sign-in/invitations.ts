/**
 * Owns invites above the store: who may give one, what the holder of a link learns, and how it is
 * redeemed.
 *
 * 1. The link is the credential: 256 random bits, shown once, kept as a hash. Whoever holds it may
 *    join, also with another address than the invited one.
 * 2. Unknown, malformed, used, revoked and expired tokens get the same answer. Failed tries from one
 *    network are limited; a good token is never held up by them.
 * 3. An account is made only with the address of the invite. Where that address has an account, its
 *    owner has to sign in first: an invite never opens an existing account.
 */
import { randomBytes } from 'node:crypto';
import type { Actors } from '../../actors/runtime/actor.ts';
import { isOpen, noSuchInvite } from '../../actors/team/invites.ts';
import { teamActor } from '../../actors/team/protocol.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import { networkOf } from '../../lib/networks.ts';
import { RateLimit } from '../../lib/rate-limit.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { InviteRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { readUser } from '../callers/account-reads.ts';
import type { Origin, SignIn } from './sign-in.ts';
import { actingTeam, authorize } from '../rights/authorize.ts';
import { assertMayGiveRole } from '../rights/escalation.ts';
import type { Principal, SignedIn } from '../callers/principal.ts';
import { tokenHash } from '../callers/token-codec.ts';
import { checkedEmail, checkedPassword, checkedPersonName } from './sign-in-input.ts';

/** What the holder of an invite's link learns before joining. */
export interface InviteView {
  email: string;
  teamName: string;
  roleName: string;
  /** Whether somebody has to sign in instead of making an account. */
  hasAccount: boolean;
}

export interface InvitationsOptions {
  reader: Reader;
  actors: Actors;
  clock: Clock;
  log: Logger;
  hashPassword(password: string, address: string): Promise<string>;
  /** Starts a session for a person whose password was just set. */
  startSession(person: { userId: string; passwordHash: string }, origin: Origin): Promise<SignIn>;
}

const inviteMs = 7 * 24 * 60 * 60 * 1_000;
const tokenBytes = 32;
// Wrong tokens from one network: this many at once, and this many in each 15 minutes.
const failuresMax = 30;
const failuresMs = 15 * 60 * 1_000;
const wellFormed = /^[A-Za-z0-9_-]{43}$/;

export class Invitations {
  readonly #options: InvitationsOptions;
  readonly #failures: RateLimit;

  constructor(options: InvitationsOptions) {
    this.#options = options;
    const { clock } = options;
    this.#failures = new RateLimit({ burst: failuresMax, windowMs: failuresMs, clock });
  }

  /** The token for the link. FORBIDDEN, NOT_FOUND for the role, BAD_USER_INPUT, CONFLICT. */
  async invite(principal: SignedIn, given: { email: string; roleId: string }): Promise<string> {
    const { actors, clock } = this.#options;
    const teamId = actingTeam(principal);
    this.#mustInvite(principal, teamId, given.roleId);
    const email = checkedEmail(given.email);
    const token = randomBytes(tokenBytes).toString('base64url');
    const now = clock.now();
    const invite: InviteRecord = {
      id: newId('inv', now),
      teamId,
      email,
      roleId: given.roleId,
      hash: tokenHash(token),
      invitedBy: principal.userId,
      createdAtMs: now,
      expiresAtMs: now + inviteMs,
    };
    await actors.ask(teamActor.at(teamId), { type: 'invite-create', invite });
    this.#options.log.info({ teamId, inviteId: invite.id, by: principal.userId }, 'invited');
    return token;
  }

  /** What the holder of the link may know before joining; NOT_FOUND, RATE_LIMITED. */
  view(token: string, origin: Origin): InviteView {
    const { reader } = this.#options;
    const invite = this.#find(token, origin);
    return {
      email: invite.email,
      teamName: reader.get(tables.teams, invite.teamId)?.name ?? '',
      roleName: reader.get(tables.roles, invite.roleId)?.name ?? '',
      hasAccount: reader.find(tables.auth, 'email', [invite.email]) !== undefined,
    };
  }

  /**
   * Joins the team with the account that is signed in, else makes an account and signs it in.
   * NOT_FOUND, RATE_LIMITED, BAD_USER_INPUT; CONFLICT for an address that has an account, and for a
   * person who is in the team.
   */
  async accept(
    principal: Principal,
    given: { token: string; name: string | null; password: string | null },
    origin: Origin,
  ): Promise<SignIn> {
    if (principal.kind === 'token') {
      throw new ServiceError('FORBIDDEN', 'An API token cannot do this; sign in.');
    }
    const invite = this.#find(given.token, origin);
    if (principal.kind === 'person') return this.#join(principal.userId, invite);
    return this.#joinAsNew(invite, given, origin);
  }

  async #join(userId: string, invite: Readonly<InviteRecord>): Promise<SignIn> {
    await this.#redeem(invite, userId, null);
    const user = readUser(this.#options.reader, userId);
    if (!user) throw new ServiceError('UNAUTHENTICATED', 'Sign in first.');
    return { user, requiresTwoFactor: false, cookies: [] };
  }

  async #joinAsNew(
    invite: Readonly<InviteRecord>,
    given: { name: string | null; password: string | null },
    origin: Origin,
  ): Promise<SignIn> {
    const { reader } = this.#options;
    if (reader.find(tables.auth, 'email', [invite.email])) {
      throw new ServiceError(
        'CONFLICT',
        'The invited address has an account: sign in, then open the invite again.',
      );
    }
    if (given.name === null || given.password === null) {
      throw new ServiceError('BAD_USER_INPUT', 'Give a name and a password, or sign in first.');
    }
    const name = checkedPersonName(given.name);
    const password = checkedPassword(given.password);
    const passwordHash = await this.#options.hashPassword(password, origin.address);
    const userId = newId('usr', this.#options.clock.now());
    await this.#redeem(invite, userId, { name, passwordHash });
    return this.#options.startSession({ userId, passwordHash }, origin);
  }

  async #redeem(
    { id, teamId, hash }: Readonly<InviteRecord>,
    userId: string,
    person: { name: string; passwordHash: string } | null,
  ): Promise<void> {
    const { actors, log } = this.#options;
    await actors.ask(teamActor.at(teamId), { type: 'invite-accept', hash, userId, person });
    log.info({ teamId, inviteId: id, userId }, 'invite_accepted');
  }

  #mustInvite(principal: SignedIn, teamId: string, roleId: string): void {
    const { reader } = this.#options;
    authorize(reader, principal, 'manage_members', { kind: 'team', teamId });
    const role = reader.get(tables.roles, roleId);
    if (role?.teamId !== teamId) throw new ServiceError('NOT_FOUND', 'No such role.');
    assertMayGiveRole(reader, principal, role);
  }

  #find(token: string, origin: Origin): Readonly<InviteRecord> {
    const { reader, clock } = this.#options;
    const found = wellFormed.test(token)
      ? reader.find(tables.invites, 'hash', [tokenHash(token)])
      : undefined;
    if (isOpen(reader, found, clock.now())) return found;
    const retryAfterS = this.#failures.take(networkOf(origin.address));
    if (retryAfterS === 0) throw noSuchInvite();
    throw new ServiceError('RATE_LIMITED', 'Too many wrong invites from here; try again later.', {
      retryAfterS,
    });
  }
}
