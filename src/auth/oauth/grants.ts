/**
 * Owns what OAuth clients were granted. Each grant is a token record, to which the client's access and
 * refresh tokens refer. When the record ends, all of them end at once; their rows are removed here.
 */
import { accountActor, type AuthWrite, directory } from '../../actors/account/protocol.ts';
import type { Condition } from '../../actors/account/match.ts';
import type { Actors } from '../../actors/runtime/actor.ts';
import { teamActor } from '../../actors/team/protocol.ts';
import type { Capability } from '../../lib/capabilities.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { Journal, Reader } from '../../store/reader-and-journal.ts';
import type { AuthRecord, OAuthClientRef, TokenRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';

export interface OAuthGrantsOptions {
  reader: Reader;
  actors: Actors;
  clock: Clock;
  log: Logger;
  subscribe: Journal['subscribe'];
}

export interface NewGrant {
  userId: string;
  teamId: string;
  client: OAuthClientRef;
  capabilities: Capability[];
  /** When the grant ends unless the client comes for its first tokens. */
  expiresAtMs: number;
}

/** What the provider stores of a token. */
export type TokenModel = 'oauthAccessToken' | 'oauthRefreshToken';

const issuedModels = ['oauthAccessToken', 'oauthRefreshToken', 'oauthConsent'] as const;
const sweepEveryMs = 3_600_000;
const clientKeptMs = 30 * 24 * 3_600_000;
/** How long a client has to be granted something when there are too many. */
const newClientMs = 3_600_000;
/** Between two clearings because there are too many. */
const clearingMs = 60_000;
const pageSize = 200;

export class OAuthGrants {
  readonly #options: OAuthGrantsOptions;
  readonly #unsubscribe: () => void;
  #cancelSweep: () => void;
  #nextClearingMs = 0;

  constructor(options: OAuthGrantsOptions) {
    this.#options = options;
    this.#unsubscribe = options.subscribe(({ changes }) => {
      for (const { op, table, key } of changes) {
        const ended = table === tables.tokens.name && (op === 'take' || op === 'delete');
        if (ended && typeof key === 'string') this.#clearRows(key);
      }
    });
    this.#cancelSweep = this.#sweepLater();
  }

  async create(wanted: NewGrant): Promise<TokenRecord> {
    const { actors, clock } = this.#options;
    const { userId, teamId, client, capabilities, expiresAtMs } = wanted;
    const id = newId('tok', clock.now());
    const token: TokenRecord = {
      id,
      name: client.name,
      userId,
      // No text has this hash: the record itself is no credential.
      hash: `grant:${id}`,
      prefix: 'oauth',
      capabilities,
      allTeams: false,
      homeTeamId: teamId,
      teamIds: [teamId],
      folderIds: [],
      appIds: [],
      databaseIds: [],
      createdAtMs: clock.now(),
      lastUsedAtMs: null,
      expiresAtMs,
      oauth: client,
    };
    await actors.ask(teamActor.at(teamId), { type: 'token-create', token });
    return token;
  }

  /** Prolongs a grant. False when it has ended meanwhile. */
  async extend(grantId: string, expiresAtMs: number): Promise<boolean> {
    const grant = this.find(grantId);
    if (!grant) return false;
    const message = { type: 'grant-extend', tokenId: grantId, expiresAtMs } as const;
    return orFalse(this.#options.actors.ask(teamActor.at(grant.homeTeamId), message));
  }

  /** Ends a grant and everything issued under it. Twice is fine. */
  async end(grantId: string): Promise<void> {
    const { actors, log } = this.#options;
    const grant = this.#options.reader.get(tables.tokens, grantId);
    if (!grant?.oauth) return;
    const message = { type: 'token-revoke', tokenId: grantId } as const;
    await orFalse(actors.ask(teamActor.at(grant.homeTeamId), message));
    log.info({ grantId, clientId: grant.oauth.clientId }, 'oauth_grant_ended');
  }

  /** A grant that has not ended. */
  find(grantId: unknown): Readonly<TokenRecord> | undefined {
    if (typeof grantId !== 'string') return undefined;
    const grant = this.#options.reader.get(tables.tokens, grantId);
    if (!grant?.oauth || (grant.expiresAtMs ?? 0) <= this.#options.clock.now()) return undefined;
    return grant;
  }

  /** The row of a token, by its hash. */
  row(model: TokenModel, hash: string): Readonly<AuthRecord> | undefined {
    return this.rowsOf(model, 'token', hash)[0];
  }

  rowsOf(model: string, field: string, value: string): Readonly<AuthRecord>[] {
    return this.#options.reader.list(tables.auth, 'field', [model, field, value]);
  }

  /** Whether one more client may be stored. Where there are too many, those that nobody uses make room. */
  async hasRoomForClient(clientsMax: number): Promise<boolean> {
    const { reader, clock, log } = this.#options;
    const isFull = (): boolean => reader.count(tables.auth, 'model', ['oauthClient']) >= clientsMax;
    if (isFull() && clock.now() >= this.#nextClearingMs) {
      this.#nextClearingMs = clock.now() + clearingMs;
      log.warn({ clientsMax }, 'oauth_clients_cleared');
      const used = new Set(this.#grants().map(({ oauth }) => oauth?.clientId));
      const since = clock.now() - newClientMs;
      await this.#sweepModel('oauthClient', (row) => isUnused(row, since, used));
    }
    return !isFull();
  }

  close(): void {
    this.#unsubscribe();
    this.#cancelSweep();
  }

  #clearRows(grantId: string): void {
    const models = issuedModels.filter(
      (model) => this.rowsOf(model, 'referenceId', grantId).length > 0,
    );
    if (models.length === 0) return;
    void this.#write(models.map((model) => removal(model, 'referenceId', grantId)));
  }

  #sweepLater(): () => void {
    return this.#options.clock.after(sweepEveryMs, () => {
      void this.sweep().finally(() => {
        this.#cancelSweep = this.#sweepLater();
      });
    });
  }

  /** Removes what has expired: grants, tokens, codes, and clients that nobody uses. */
  async sweep(): Promise<void> {
    const now = this.#options.clock.now();
    const grants = this.#grants();
    for (const grant of grants) {
      if ((grant.expiresAtMs ?? Infinity) > now) break;
      await this.end(grant.id);
    }
    const used = new Set(grants.map((grant) => grant.oauth?.clientId));
    for (const model of [...issuedModels, 'verification', 'oauthClient']) {
      await this.#sweepModel(model, (row) => isSpent(row, now, used));
    }
  }

  #grants(): Readonly<TokenRecord>[] {
    return this.#options.reader.list(tables.tokens, 'grants', [], { limit: 100_000 });
  }

  async #sweepModel(model: string, isOver: (row: Readonly<AuthRecord>) => boolean): Promise<void> {
    let after: readonly string[] | undefined;
    for (;;) {
      const options = { limit: pageSize, ...(after && { after }) };
      const page = this.#options.reader.list(tables.auth, 'model', [model], options);
      const over = page.filter(isOver).map((row) => removal(model, 'id', row.id));
      if (over.length > 0) await this.#write(over);
      const last = page.at(-1);
      if (!last || page.length < pageSize) return;
      after = [model, last.id];
      // Lets other work run between two pages.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async #write(writes: AuthWrite[]): Promise<void> {
    const { actors, log } = this.#options;
    try {
      await actors.ask(accountActor.at(directory), { type: 'write', writes });
    } catch (thrown) {
      // The rows refer to a grant that has ended. The next sweep tries again.
      log.warn({ err: thrown }, 'oauth_rows_kept');
    }
  }
}

function isSpent(
  row: Readonly<AuthRecord>,
  now: number,
  usedClients: ReadonlySet<string | undefined>,
): boolean {
  if (row.model === 'oauthClient') return isUnused(row, now - clientKeptMs, usedClients);
  if (row.model === 'oauthConsent') return timeIn(row, 'createdAt') < now - clientKeptMs;
  return timeIn(row, 'expiresAt') < now;
}

/** Whether it is a client that has no grant, and had none `since`. */
function isUnused(
  row: Readonly<AuthRecord>,
  since: number,
  usedClients: ReadonlySet<string | undefined>,
): boolean {
  const { clientId } = row.fields;
  const isUsed = typeof clientId === 'string' && usedClients.has(clientId);
  return !isUsed && Math.max(timeIn(row, 'createdAt'), timeIn(row, 'updatedAt')) < since;
}

function timeIn({ fields }: Readonly<AuthRecord>, name: string): number {
  return typeof fields[name] === 'number' ? fields[name] : 0;
}

function removal(model: string, field: string, value: string): AuthWrite {
  const where: Condition[] = [
    { field, operator: 'eq', value, connector: 'AND', insensitive: false },
  ];
  return { op: 'delete', model, where, one: false };
}

async function orFalse(done: Promise<boolean>): Promise<boolean> {
  try {
    return await done;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'NOT_FOUND') return false;
    throw error;
  }
}
