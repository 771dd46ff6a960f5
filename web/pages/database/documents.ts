/** Owns what the page asks of the API. */
import { graphql, type ResultOf } from '../../api/graphql.ts';
import type { Capability } from '../../shell/session.ts';
import { ServerChoice } from '../server/server-field.tsx';
import { MoveState } from '../server/server-section.tsx';

export const DatabaseQuery = graphql(
  `
    query Database($id: ID!) {
      database(id: $id) {
        id
        name
        engine
        version
        status
        error
        connectionStringMasked
        createdAt
        updatedAt
        capabilities
        serverId
        move {
          ...MoveState
        }
        resources {
          cpus
          memoryMb
          pids
        }
        usedBy {
          id
          name
          status
        }
      }
    }
  `,
  [MoveState],
);

export type Database = NonNullable<ResultOf<typeof DatabaseQuery>['database']>;

export function mayOn({ capabilities }: Pick<Database, 'capabilities'>, need: Capability): boolean {
  return capabilities.includes(need);
}

export const MetricsQuery = graphql(`
  query DatabaseMetrics($id: ID!, $minutes: Int!) {
    metrics(databaseId: $id, minutes: $minutes) {
      at
      cpu
      memoryBytes
      networkInBytes
      networkOutBytes
    }
  }
`);

export const BackupsQuery = graphql(`
  query DatabaseBackups($id: ID!) {
    backupRuns(databaseId: $id, first: 20) {
      nodes {
        id
        status
        startedAt
        finishedAt
        sizeBytes
        encrypted
        error
      }
    }
  }
`);

export const SetRunning = graphql(`
  mutation SetDatabaseRunning($id: ID!, $running: Boolean!) {
    setDatabaseRunning(id: $id, running: $running) {
      id
      status
      error
    }
  }
`);

export const RevealConnection = graphql(`
  mutation RevealConnection($id: ID!) {
    revealConnection(id: $id)
  }
`);

export const RotatePassword = graphql(`
  mutation RotateDatabasePassword($id: ID!) {
    rotateDatabasePassword(id: $id)
  }
`);

export const ServersQuery = graphql(
  `
    query DatabaseServers {
      servers {
        ...ServerChoice
      }
    }
  `,
  [ServerChoice],
);

export const MoveDatabase = graphql(
  `
    mutation MoveDatabase($id: ID!, $serverId: ID!) {
      moveDatabase(id: $id, serverId: $serverId) {
        id
        serverId
        status
        move {
          ...MoveState
        }
      }
    }
  `,
  [MoveState],
);

export const DeleteDatabase = graphql(`
  mutation DeleteDatabase($id: ID!, $force: Boolean!) {
    deleteDatabase(id: $id, force: $force)
  }
`);
