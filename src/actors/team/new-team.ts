/** Owns the records of a new team: the team, its three built-in roles and its first owner. */
import { type Capability, capabilities } from '../../lib/capabilities.ts';
import { newId } from '../../lib/ids.ts';
import type { RoleRecord } from '../../store/records/records.ts';
import { type Change, insert } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';

const slugMax = 40;

/** All but team, roles, members and deletion. */
const memberCapabilities: readonly Capability[] = capabilities.filter(
  (capability) =>
    !capability.startsWith('delete_') &&
    !['manage_team', 'manage_roles', 'manage_members'].includes(capability),
);

const viewerCapabilities = capabilities.filter((capability) => capability.startsWith('view_'));

export interface NewTeam {
  teamId: string;
  name: string;
  ownerId: string;
  atMs: number;
  isSlugTaken: (slug: string) => boolean;
}

/** The changes that make a team; they belong in one commit. */
export function newTeamChanges({ teamId, name, ownerId, atMs, isSlugTaken }: NewTeam): Change[] {
  const role = (
    builtIn: RoleRecord['builtIn'],
    roleName: string,
    held: readonly Capability[],
  ): RoleRecord => {
    const id = newId('rol', atMs);
    return { id, teamId, name: roleName, capabilities: [...held], builtIn };
  };
  const owner = role('owner', 'Owner', capabilities);
  const member = role('member', 'Member', memberCapabilities);
  const viewer = role('viewer', 'Viewer', viewerCapabilities);
  return [
    insert(tables.teams, {
      id: teamId,
      slug: freeSlug(name, isSlugTaken),
      name,
      requireTwoFactor: false,
      mcpEnabled: true,
      createdAtMs: atMs,
    }),
    ...[owner, member, viewer].map((one) => insert(tables.roles, one)),
    insert(tables.members, { teamId, userId: ownerId, roleId: owner.id, joinedAtMs: atMs }),
  ];
}

/** Letters, digits and single hyphens; `team` when the name has none of them. */
export function slugOf(name: string): string {
  const ascii = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const slug = ascii.replace(/[^a-z0-9]+/g, '-').slice(0, slugMax);
  return slug.replace(/^-+|-+$/g, '') || 'team';
}

function freeSlug(name: string, isTaken: (slug: string) => boolean): string {
  const base = slugOf(name);
  for (let n = 1; ; n++) {
    const slug = n === 1 ? base : `${base}-${String(n)}`;
    if (!isTaken(slug)) return slug;
  }
}
