/** A store in memory, the real actors over it, and records to be somebody in it. */
import { accountActorDefinition } from '../../src/actors/account/actor.ts';
import { ActorRuntime } from '../../src/actors/runtime/runtime.ts';
import { teamActorDefinition } from '../../src/actors/team/actor.ts';
import { newTeamChanges } from '../../src/actors/team/new-team.ts';
import { type Capability, capabilities } from '../../src/lib/capabilities.ts';
import type { AppRecord, AuthRecord, TokenRecord } from '../../src/store/records/records.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { insert, put } from '../../src/store/records/table.ts';
import { tables } from '../../src/store/records/tables.ts';
import { newTokenSecret, shownPrefix, tokenHash } from '../../src/auth/callers/token-codec.ts';
import type { SignedIn } from '../../src/auth/callers/principal.ts';
import { ManualClock } from './manual-clock.ts';
import { MemoryStore } from './memory-store.ts';
import { plainSecrets } from './plain-secrets.ts';
import { recordingLogger } from './silent-logger.ts';

export type Role = 'owner' | 'member' | 'viewer';

export class AccountsFixture {
  readonly store = new MemoryStore();
  readonly clock = new ManualClock();
  readonly log = recordingLogger();
  readonly runtime: ActorRuntime;

  /** Actors keep the time of `clock`, else that of the fixture, which stands still. */
  constructor({ clock = undefined as Clock | undefined } = {}) {
    const options = { reader: this.store, clock: clock ?? this.clock };
    this.runtime = new ActorRuntime({
      store: this.store,
      clock: options.clock,
      logger: this.log,
      carry: structuredClone,
    });
    this.runtime.register(teamActorDefinition({ ...options, secrets: plainSecrets }));
    this.runtime.register(accountActorDefinition(options));
  }

  addUser(userId: string, fields: Record<string, unknown> = {}): void {
    const record: AuthRecord = {
      model: 'user',
      id: userId,
      fields: { email: `${userId}@example.org`, name: userId, ...fields },
      dates: [],
    };
    this.store.write([put(tables.auth, record)]);
  }

  /** A team `teamId` whose slug is its name. */
  addTeam(teamId: string, ownerId: string): void {
    const isSlugTaken = (): boolean => false;
    const atMs = this.clock.now();
    this.store.write(newTeamChanges({ teamId, name: teamId, ownerId, atMs, isSlugTaken }));
  }

  addMember(teamId: string, userId: string, as: Role | Capability[]): void {
    const roles = this.store.list(tables.roles, 'team', [teamId]);
    let roleId = roles.find((role) => role.builtIn === as)?.id;
    if (typeof as !== 'string') {
      roleId = `rol_${userId}_${teamId}`;
      const role = { id: roleId, teamId, name: roleId, capabilities: as, builtIn: null };
      this.store.write([put(tables.roles, role)]);
    }
    if (roleId === undefined) throw new Error('no such role');
    const joinedAtMs = this.clock.now() + this.store.position;
    this.store.write([put(tables.members, { teamId, userId, roleId, joinedAtMs })]);
  }

  addFolder(id: string, teamId: string, parentId: string | null = null): void {
    this.store.write([insert(tables.folders, { id, teamId, name: id, parentId })]);
  }

  addGrant(folderId: string, userId: string, held: Capability[]): void {
    const teamId = this.store.get(tables.folders, folderId)?.teamId ?? '';
    this.store.write([put(tables.folderGrants, { teamId, folderId, userId, capabilities: held })]);
  }

  addApp(id: string, teamId: string, fields: Partial<AppRecord> = {}): AppRecord {
    const app = {
      id,
      teamId,
      slug: id,
      name: id,
      folderId: null,
      deletedAtMs: null,
      uid: 0,
      ...fields,
    } as AppRecord;
    this.store.write([put(tables.apps, app)]);
    return app;
  }

  addSession(sessionId: string, userId: string, fields: Record<string, unknown> = {}): string {
    const token = `token-of-${sessionId}`;
    const record: AuthRecord = {
      model: 'session',
      id: sessionId,
      fields: {
        token,
        userId,
        expiresAt: this.clock.now() + 7 * 24 * 3_600_000,
        updatedAt: this.clock.now(),
        ...fields,
      },
      dates: ['expiresAt', 'updatedAt'],
    };
    this.store.write([put(tables.auth, record)]);
    return token;
  }

  addToken(
    id: string,
    userId: string,
    homeTeamId: string,
    fields: Partial<TokenRecord> = {},
  ): { secret: string; principal: SignedIn } {
    const secret = newTokenSecret();
    const token: TokenRecord = {
      id,
      name: id,
      userId,
      hash: tokenHash(secret),
      prefix: shownPrefix(secret),
      capabilities: [...capabilities],
      allTeams: false,
      teamIds: [],
      folderIds: [],
      appIds: [],
      databaseIds: [],
      homeTeamId,
      createdAtMs: this.clock.now(),
      lastUsedAtMs: null,
      expiresAtMs: null,
      ...fields,
    };
    this.store.write([put(tables.tokens, token)]);
    return { secret, principal: { kind: 'token', userId, tokenId: id, teamId: homeTeamId } };
  }

  close(): Promise<void> {
    return this.runtime.close();
  }
}

export function person(userId: string, teamId: string | null = null): SignedIn {
  return { kind: 'person', userId, sessionId: `ses_${userId}`, teamId };
}
