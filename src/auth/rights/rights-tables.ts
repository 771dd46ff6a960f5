/** Owns which tables say who may do what: a change of one may take a right away from what is open. */
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
  ].map((one) => one.name),
);
