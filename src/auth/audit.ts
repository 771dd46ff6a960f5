/**
 * Owns who is recorded for a change. It makes the cause of a request and lets its messages carry it. It
 * also records what changes nothing but is worth knowing, such as a failed sign-in.
 *
 * 1. Every change that is asked for inside `during` is recorded in the commit of the change (see
 *    `Causes`).
 * 2. Failed sign-ins are recorded for accounts that exist, at most five in 15 minutes for an account
 *    from one network, and 60 a minute in all, so that nobody fills the log by guessing. What was typed
 *    is not kept: it may be a password in the wrong field.
 */
import { activityLog } from '../actors/activity/protocol.ts';
import type { Causes, CauseSeed } from '../actors/runtime/causes.ts';
import type { Actors, CauseAgent } from '../actors/runtime/actor.ts';
import type { Clock } from '../lib/clock.ts';
import { asServiceError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import { shownText } from '../lib/names.ts';
import { networkOf } from '../lib/networks.ts';
import { RateLimit } from '../lib/rate-limit.ts';
import type { Reader } from '../store/reader-and-journal.ts';
import { tables } from '../store/records/tables.ts';
import type { RefusedSignIn } from './sign-in/sign-in.ts';
import { anonymous, type Principal } from './callers/principal.ts';

export interface AuditedRequest {
  action: string;
  principal: Principal;
  address: string;
  userAgent: string;
  via?: 'http' | 'mcp';
  /** Set over MCP, with the client's name as it was sent. */
  agent?: CauseAgent | null;
  targetId?: string | null;
  /** What else may be recorded of the request; nothing secret. */
  input?: Readonly<Record<string, unknown>>;
  /** Recorded also when nothing changes. */
  always?: boolean;
}

export interface AuditOptions {
  causes: Causes;
  actors: Actors;
  reader: Reader;
  clock: Clock;
  log: Logger;
}

const userAgentMax = 120;
const clientMax = 100;
const windowMs = 15 * 60_000;

export class Audit {
  readonly #options: AuditOptions;
  readonly #failures: RateLimit;
  readonly #allFailures: RateLimit;

  constructor(options: AuditOptions) {
    this.#options = options;
    const { clock } = options;
    this.#failures = new RateLimit({ burst: 5, windowMs, clock });
    this.#allFailures = new RateLimit({ burst: 60, windowMs: 60_000, clock });
  }

  /** Runs `work`. What it asks actors to change is recorded under this request. */
  during<T>(request: AuditedRequest, work: () => T | Promise<T>): Promise<T> {
    const seed = this.#seed(request);
    return this.#options.causes.during(seed, work, (error, asked) => {
      const { code } = asServiceError(error);
      if (asked) this.#tell({ type: 'failed', id: seed.id, code });
    });
  }

  /** Says who makes the present request, where that becomes known only while it runs. */
  identify(principal: Principal): void {
    if (principal.kind !== 'anonymous') this.#options.causes.amend(callerOf(principal));
  }

  /** Records a sign-in with a wrong password or code (promise 2). */
  readonly signInRefused: RefusedSignIn = (who, { address, userAgent }) => {
    const { reader } = this.#options;
    const userId = 'userId' in who ? who.userId : this.#userIdOf(who.email);
    if (userId === undefined) return;
    if (this.#failures.take(`${userId} ${networkOf(address)}`) > 0) return;
    if (this.#allFailures.take('all') > 0) return;
    const request = { principal: anonymous, address, userAgent, targetId: userId, always: true };
    const seed = this.#seed({ action: 'login_failed', ...request });
    const first = reader.list(tables.members, 'user', [userId], { limit: 1 })[0];
    const cause = { ...seed, teamId: first?.teamId ?? null, again: false };
    this.#options.actors.ask(activityLog, { type: 'note' }, { cause }).catch(this.#lost);
  };

  #userIdOf(typed: string): string | undefined {
    const email = typed.trim().toLowerCase();
    if (email.length > 254) return undefined;
    return this.#options.reader.find(tables.auth, 'email', [email])?.id;
  }

  #seed(request: AuditedRequest): CauseSeed {
    const atMs = this.#options.clock.now();
    return {
      id: newId('act', atMs),
      atMs,
      action: request.action,
      ...callerOf(request.principal),
      address: request.address,
      userAgent: request.userAgent.slice(0, userAgentMax),
      via: request.via ?? 'http',
      agent: agentOf(request),
      targetId: request.targetId ?? null,
      input: request.input ?? {},
      always: request.always ?? false,
    };
  }

  #tell(message: { type: 'failed'; id: string; code: string }): void {
    this.#options.actors.ask(activityLog, message).catch(this.#lost);
  }

  readonly #lost = (error: unknown): void =>
    this.#options.log.warn({ err: error }, 'activity_not_noted');
}

/** The client's name is a stranger's text that people will read, so it is made fit to be shown. */
function agentOf({ agent }: AuditedRequest): CauseAgent | null {
  if (!agent) return null;
  const client = shownText(agent.client ?? '', clientMax);
  return { client: client === '' ? null : client, tool: agent.tool };
}

function callerOf(principal: Principal): Pick<CauseSeed, 'userId' | 'tokenId' | 'teamId'> {
  if (principal.kind === 'anonymous') return { userId: null, tokenId: null, teamId: null };
  const { userId, teamId } = principal;
  return { userId, teamId, tokenId: principal.kind === 'token' ? principal.tokenId : null };
}
