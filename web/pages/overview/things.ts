/** Owns what the overview lists: apps and databases as one kind of thing, ordered, and grouped by folder. */
import { graphql, type ResultOf } from '../../api/graphql.ts';

export const OverviewApp = graphql(`
  fragment OverviewApp on App {
    id
    name
    slug
    source
    status
    url
    folderId
    updatedAt
    latestDeployment {
      id
      status
      createdAt
      commitMessage
    }
  }
`);

export const OverviewApps = graphql(
  `
    query OverviewApps($after: String) {
      apps(first: 500, after: $after) {
        nodes {
          ...OverviewApp
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
    }
  `,
  [OverviewApp],
);

export const OverviewRest = graphql(`
  query OverviewRest {
    databases {
      id
      name
      engine
      version
      status
      folderId
      updatedAt
    }
    folders {
      id
      name
      parentId
    }
  }
`);

type App = ResultOf<typeof OverviewApp>;
type Database = ResultOf<typeof OverviewRest>['databases'][number];
export type Folder = ResultOf<typeof OverviewRest>['folders'][number];

export interface Thing {
  kind: 'app' | 'database';
  id: string;
  name: string;
  href: string;
  /** Such as its source, or its engine. */
  what: string;
  status: string;
  url: string | null;
  folderId: string | null;
  changedAt: string;
}

export type Order = 'name' | 'state' | 'changed';

export type Row =
  | { kind: 'folder'; id: string; path: string; count: number; isEmpty: boolean }
  | { kind: 'thing'; thing: Thing };

const sources: Readonly<Record<App['source'], string>> = {
  COMPOSE: 'Compose',
  GIT: 'Git',
  IMAGE: 'Image',
  UPLOAD: 'Upload',
};
export const engines: Readonly<Record<Database['engine'], string>> = {
  CLICKHOUSE: 'ClickHouse',
  MARIADB: 'MariaDB',
  MONGODB: 'MongoDB',
  MYSQL: 'MySQL',
  POSTGRES: 'PostgreSQL',
  REDIS: 'Redis',
};

export function thingOfApp(app: App): Thing {
  const { id, name, status, url, folderId, latestDeployment } = app;
  return {
    ...{ kind: 'app', id, name, status, url, folderId },
    href: `/apps/${id}`,
    what: latestDeployment?.commitMessage?.split('\n', 1)[0] ?? sources[app.source],
    changedAt: latestDeployment?.createdAt ?? app.updatedAt,
  };
}

export function thingOfDatabase(database: Database): Thing {
  const { id, name, status, folderId, updatedAt: changedAt } = database;
  const what = `${engines[database.engine]} ${database.version}`;
  return {
    kind: 'database',
    id,
    name,
    href: `/databases/${id}`,
    what,
    status,
    url: null,
    folderId,
    changedAt,
  };
}

const urgency = [
  'error',
  'building',
  'queued',
  'provisioning',
  'active',
  'running',
  'stopped',
  'idle',
];
const collator = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

const orders: Readonly<Record<Order, (a: Thing, b: Thing) => number>> = {
  name: (a, b) => collator.compare(a.name, b.name),
  state: (a, b) => urgency.indexOf(a.status) - urgency.indexOf(b.status) || orders.name(a, b),
  changed: (a, b) => (a.changedAt < b.changedAt ? 1 : a.changedAt > b.changedAt ? -1 : 0),
};

/**
 * What is shown, row by row: what lies in no folder first, then each folder. Empty ones are shown while nobody
 * searches.
 */
export function rowsOf(
  things: readonly Thing[],
  folders: readonly Folder[],
  { search, order }: { search: string; order: Order },
): Row[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean).map(hostIn);
  const paths = pathsOf(folders);
  const found = things
    .filter((thing) => {
      const text = `${thing.name} ${thing.what} ${hostIn(thing.url ?? '')} ${pathIn(paths, thing)}`;
      return words.every((word) => text.toLowerCase().includes(word));
    })
    .sort(orders[order]);
  const rowsIn = (id: string): Row[] =>
    (groups.get(id) ?? []).map((thing): Row => ({ kind: 'thing', thing }));
  const groups = Map.groupBy(found, ({ folderId }) =>
    folderId !== null && paths.has(folderId) ? folderId : nowhere,
  );
  const parents = new Set(folders.map(({ parentId }) => parentId));
  const held = new Set(things.map(({ folderId }) => folderId));
  const sorted = [...paths].sort(([, a], [, b]) => collator.compare(a, b));
  const inFolders = sorted.flatMap(([id, path]): Row[] => {
    const rows = rowsIn(id);
    if (rows.length === 0 && words.length > 0) return [];
    const isEmpty = !held.has(id) && !parents.has(id);
    return [{ kind: 'folder', id, path, count: rows.length, isEmpty }, ...rows];
  });
  return [...rowsIn(nowhere), ...inFolders];
}

/** The id of no folder. */
const nowhere = '';

/** Of an address its host: the port is the same for all of them. Of what is no address itself. */
function hostIn(text: string): string {
  return /^https?:\/\/([^/:]*)/.exec(text)?.[1] ?? text;
}

function pathIn(paths: ReadonlyMap<string, string>, { folderId }: Thing): string {
  return folderId === null ? '' : (paths.get(folderId) ?? '');
}

/** Names from the top down, as far as the person sees the folders above. */
export function pathsOf(folders: readonly Folder[]): Map<string, string> {
  const byId = new Map(folders.map((folder) => [folder.id, folder]));
  const pathOf = ({ name, parentId }: Folder, depth = 0): string => {
    const above = parentId === null || depth > 100 ? undefined : byId.get(parentId);
    return above === undefined ? name : `${pathOf(above, depth + 1)} / ${name}`;
  };
  return new Map(folders.map((folder) => [folder.id, pathOf(folder)]));
}
