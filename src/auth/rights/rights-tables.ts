/**
 * Owns which tables decide who may do what. A change in one of them may take a right away from an open
 * stream or console.
 */
import { tables } from '../../store/records/tables.ts';

export const rightsTables: ReadonlySet<string> = new Set(
  [
    tables.auth,
    tables.members,
    tables.roles,
    tables.apps,
    tables.databases,
    tables.teams,
    tables.folders,
    tables.folderGrants,
  ].map((table) => table.name),
);
