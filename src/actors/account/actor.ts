/**
 * Owns every change of people, sessions and better-auth's other records.
 *
 * 1. A handler ends only when its commit is durable, so that the next one decides on the stored state.
 * 2. The set-up is one commit: after a crash it has happened as a whole, or it can still be done.
 * 3. Teams are made one after another, so that two teams of one name get two slugs and nobody founds more
 *    teams than allowed.
 */
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import { checkedName } from '../../lib/names.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { AuthRecord } from '../../store/records/records.ts';
import { type Change, put } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { Actor, ActorDefinition } from '../runtime/actor.ts';
import { type NewTeam, newTeamChanges } from '../team/new-team.ts';
import { AuthView } from './auth-view.ts';
import { newPersonChanges } from './new-person.ts';
import { securityHandlers, sessionEnd, staleSightings } from './security.ts';
import { type AccountProtocol, type FirstPerson, accountActor } from './protocol.ts';

export interface AccountActorOptions {
  reader: Reader;
  clock: Clock;
  /** For an instance whose record does not exist yet. Default 7. */
  logMaxDays?: number;
}

const teamsMax = 50;

export function accountActorDefinition(
  options: AccountActorOptions,
): ActorDefinition<AccountProtocol> {
  return {
    kind: accountActor,
    activate: (context) => accountHandlers(options, (changes) => context.commit(changes)),
  };
}

function accountHandlers(
  options: AccountActorOptions,
  commit: (changes: Change[]) => Promise<void>,
): Actor<AccountProtocol> {
  const { reader, clock } = options;
  const sessionOf = (sessionId: string): Readonly<AuthRecord> | undefined =>
    reader.get(tables.auth, ['session', sessionId]);
  return {
    ...securityHandlers({ reader, clock, commit }),
    'team-create': async ({ teamId, ownerId, name: given }) => {
      const name = checkedName(given, 'A team name');
      if (!reader.get(tables.auth, ['user', ownerId])) {
        throw new ServiceError('UNAUTHENTICATED', 'Sign in first.');
      }
      if (ownedTeams(reader, ownerId) >= teamsMax) {
        throw new ServiceError('CONFLICT', `A person owns at most ${String(teamsMax)} teams.`);
      }
      await commit(newTeamChanges({ teamId, name, ownerId, ...founding(options) }));
      const team = reader.get(tables.teams, teamId);
      if (!team) throw new Error('a team that was made is not there');
      return team;
    },
    write: async ({ writes }) => {
      const view = new AuthView(reader);
      const written = writes.map((write) => view.apply(write));
      const changes = view.changes();
      if (changes.length > 0) await commit(changes);
      return written;
    },
    setup: async ({ person }) => {
      await commit(setupChanges(options, person));
      return true;
    },
    'session-renew': async ({ sessionId, atMs, expiresAtMs }) => {
      const session = sessionOf(sessionId);
      if (!session || numberOf(session.fields['expiresAt']) <= clock.now()) return false;
      const fields = { ...session.fields, expiresAt: expiresAtMs, updatedAt: atMs };
      const dates = [...new Set([...session.dates, 'expiresAt', 'updatedAt'])];
      await commit([put(tables.auth, { ...session, fields, dates })]);
      return true;
    },
    'session-team': async ({ sessionId, teamId }) => {
      const session = sessionOf(sessionId);
      if (!session) throw new ServiceError('NOT_FOUND', 'No such session.');
      const fields = { ...session.fields, currentTeamId: teamId };
      await commit([put(tables.auth, { ...session, fields })]);
      return true;
    },
    'session-end': async ({ sessionId }) => {
      if (!sessionOf(sessionId)) return false;
      await commit(sessionEnd(sessionId));
      return true;
    },
    'sessions-trim': async ({ userId, keep }) => {
      const ending = surplusSessions(reader, userId, keep, clock.now());
      const changes = [...ending.flatMap(sessionEnd), ...staleSightings(reader, userId)];
      if (changes.length > 0) await commit(changes);
      return ending.length;
    },
  };
}

function setupChanges(options: AccountActorOptions, person: FirstPerson): Change[] {
  const { reader } = options;
  const instance = reader.get(tables.instance, 'instance');
  if (instance && instance.setUpAtMs !== null) {
    throw new ServiceError('CONFLICT', 'This instance has been set up.');
  }
  const { atMs, isSlugTaken } = founding(options);
  const { userId: ownerId, teamId, teamName: name } = person;
  const fresh = {
    id: 'instance',
    instanceId: newId('ins', atMs),
    logMaxDays: options.logMaxDays ?? 7,
    publicUrl: null,
    createdAtMs: atMs,
  } as const;
  return [
    put(tables.instance, { ...(instance ?? fresh), setUpAtMs: atMs }),
    ...newPersonChanges(person, { isInstanceAdmin: true, atMs }),
    ...newTeamChanges({ teamId, name, ownerId, atMs, isSlugTaken }),
  ];
}

function founding({ reader, clock }: AccountActorOptions): Pick<NewTeam, 'atMs' | 'isSlugTaken'> {
  const isSlugTaken = (slug: string): boolean =>
    reader.find(tables.teams, 'slug', [slug]) !== undefined;
  return { atMs: clock.now(), isSlugTaken };
}

function ownedTeams(reader: Reader, userId: string): number {
  return reader
    .list(tables.members, 'user', [userId])
    .filter((member) => reader.get(tables.roles, member.roleId)?.builtIn === 'owner').length;
}

function surplusSessions(reader: Reader, userId: string, keep: number, now: number): string[] {
  const sessions = reader.list(tables.auth, 'field', ['session', 'userId', userId]);
  const age = (session: Readonly<AuthRecord>): number => numberOf(session.fields['updatedAt']);
  const live = sessions.filter((session) => numberOf(session.fields['expiresAt']) > now);
  const kept = new Set(live.sort((a, b) => age(b) - age(a)).slice(0, keep));
  return sessions.filter((session) => !kept.has(session)).map((session) => session.id);
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
