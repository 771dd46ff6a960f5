/**
 * Owns what all handlers of a team use: its records, and the second check of a caller who changes people.
 * `src/auth` checked the right before the message was sent. It must still hold here, where messages come
 * one after another. So of two owners who demote each other at the same time, the second is no owner any
 * more.
 */
import type { Capability } from '../../lib/capabilities.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { FolderRecord, RoleRecord, TeamRecord } from '../../store/records/records.ts';
import type { Table } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { ActorContext } from '../runtime/actor.ts';
import type { SecretBox } from '../workload/deps.ts';
import type { TeamProtocol } from './protocol.ts';

export interface TeamParts {
  reader: Reader;
  clock: Clock;
  /** Seals the passwords of registries. */
  secrets: SecretBox;
}

type Power = readonly Capability[] | 'owner';

export class Team {
  readonly id: string;
  readonly context: ActorContext<TeamProtocol>;
  readonly reader: Reader;
  readonly clock: Clock;
  readonly secrets: SecretBox;

  constructor({ reader, clock, secrets }: TeamParts, context: ActorContext<TeamProtocol>) {
    this.id = context.ref.id;
    this.context = context;
    this.reader = reader;
    this.clock = clock;
    this.secrets = secrets;
  }

  /** Throws NOT_FOUND without the team. */
  require(): Readonly<TeamRecord> {
    const team = this.reader.get(tables.teams, this.id);
    if (!team) throw new ServiceError('NOT_FOUND', 'No such team.');
    return team;
  }

  /** Throws NOT_FOUND, even for a role of another team. */
  role(roleId: string): Readonly<RoleRecord> {
    const role = this.reader.get(tables.roles, roleId);
    if (role?.teamId !== this.id) throw new ServiceError('NOT_FOUND', 'No such role.');
    return role;
  }

  /** Throws NOT_FOUND, even for a folder of another team. */
  folder(folderId: string): Readonly<FolderRecord> {
    const folder = this.reader.get(tables.folders, folderId);
    if (folder?.teamId !== this.id) throw new ServiceError('NOT_FOUND', 'No such folder.');
    return folder;
  }

  /** Throws CONFLICT when the team has `max` of them. */
  mustHaveRoom<R>(table: Table<R, 'team'>, max: number, what: string): void {
    if (this.reader.count(table, 'team', [this.id]) < max) return;
    throw new ServiceError('CONFLICT', `A team has at most ${String(max)} ${what}.`);
  }

  mustHold(userId: string, needed: Power): void {
    if (holds(this.reader, this.id, userId, needed)) return;
    throw new ServiceError('FORBIDDEN', 'This needs more than you hold in the team.');
  }

  /** Throws CONFLICT when the team would be without an owner if one person lost this role. */
  mustNotBeLastOwner(role: Readonly<RoleRecord>): void {
    if (role.builtIn !== 'owner') return;
    if (this.reader.count(tables.members, 'role', [role.id]) > 1) return;
    throw new ServiceError('CONFLICT', 'A team keeps at least one owner: name another one first.');
  }
}

/** Whether the person's role in the team holds all of this. */
export function holds(reader: Reader, teamId: string, userId: string, needed: Power): boolean {
  const member = reader.get(tables.members, [teamId, userId]);
  const role = member && reader.get(tables.roles, member.roleId);
  if (role?.teamId !== teamId) return false;
  if (role.builtIn === 'owner') return true;
  return needed !== 'owner' && needed.every((one) => role.capabilities.includes(one));
}

/** What a person has to hold to give a role or to take it away. */
export function worthOf(role: Readonly<RoleRecord>): Power {
  return role.builtIn === 'owner' ? 'owner' : role.capabilities;
}
