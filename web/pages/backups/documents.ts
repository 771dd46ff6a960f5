/** Owns what the page of backups asks for. */
import { graphql, type ResultOf } from '../../api/graphql.ts';

export const RunFields = graphql(`
  fragment RunFields on BackupRun {
    id
    appId
    databaseId
    instance
    destinationId
    status
    encrypted
    error
    progressBytes
    sizeBytes
    startedAt
    finishedAt
  }
`);

export const DestinationFields = graphql(`
  fragment DestinationFields on BackupDestination {
    id
    name
    kind
    path
    bucket
    endpoint
    region
    encrypted
    lastTestAt
    lastTestError
  }
`);

export const ScheduleFields = graphql(`
  fragment ScheduleFields on BackupSchedule {
    id
    appId
    databaseId
    instance
    destinationId
    cron
    timezone
    keep
    enabled
    nextRunAt
  }
`);

export const BackupsQuery = graphql(
  `
    query Backups {
      backupDestinations {
        ...DestinationFields
      }
      backupSchedules {
        ...ScheduleFields
      }
      apps(first: 500) {
        nodes {
          id
          name
        }
      }
      databases {
        id
        name
      }
    }
  `,
  [DestinationFields, ScheduleFields],
);

export const RunsQuery = graphql(
  `
    query BackupRuns($after: String) {
      backupRuns(first: 50, after: $after) {
        nodes {
          ...RunFields
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
    }
  `,
  [RunFields],
);

export type BackupsAnswer = ResultOf<typeof BackupsQuery>;
export type Run = ResultOf<typeof RunFields>;
export type Destination = ResultOf<typeof DestinationFields>;
export type Schedule = ResultOf<typeof ScheduleFields>;

/** What a backup is of: an app, a database, or the instance. */
export interface Target {
  appId: string | null;
  databaseId: string | null;
  instance: boolean;
}

export function targetName(of: Target, { apps, databases }: BackupsAnswer): string {
  if (of.instance) return 'This Gangway';
  const things = of.appId === null ? databases : apps.nodes;
  return things.find(({ id }) => id === (of.appId ?? of.databaseId))?.name ?? 'Deleted';
}

export function destinationName(id: string, { backupDestinations }: BackupsAnswer): string {
  return backupDestinations.find((destination) => destination.id === id)?.name ?? 'Deleted';
}
