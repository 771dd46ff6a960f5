/** Owns what the page of the instance asks of the API. */
import { graphql, type ResultOf } from '../../api/graphql.ts';

/** Who is in no team sees no servers and no schedules. */
export const InstanceQuery = graphql(`
  query Instance($inTeam: Boolean!) {
    instanceSettings {
      publicUrl
      logMaxDays
      certificates {
        host
        error
        nextTryAt
        certificate {
          issuer
          managed
          notAfter
        }
      }
    }
    servers @include(if: $inTeam) {
      id
      name
      runtime
      connected
      draining
      version
      lastSeenAt
      added
      bootstrapExpiresAt
      takeover
      takeoverReason
      problem
      isolation {
        layer
        holds
        missing
        consequence
      }
    }
    backupSchedules @include(if: $inTeam) {
      id
      instance
      enabled
      nextRunAt
    }
  }
`);

export const InstanceStatusQuery = graphql(`
  query InstanceStatus {
    instanceStatus {
      version
      installedVersion
      nodeVersion
      startedAt
      placeAnswers
      edgeAnswers
      warnings
      machine {
        name
        system
        cores
        load
        memoryBytes
        memoryFreeBytes
        diskBytes
        diskFreeBytes
      }
    }
  }
`);

export type Instance = ResultOf<typeof InstanceQuery>;
export type Settings = Instance['instanceSettings'];
export type Server = NonNullable<Instance['servers']>[number];
export type Status = ResultOf<typeof InstanceStatusQuery>['instanceStatus'];

export const UpdateSettings = graphql(`
  mutation UpdateInstanceSettings($publicUrl: String, $logMaxDays: Int) {
    updateInstanceSettings(publicUrl: $publicUrl, logMaxDays: $logMaxDays) {
      publicUrl
      logMaxDays
    }
  }
`);

export const AddServer = graphql(`
  mutation AddServer($name: String!, $takeover: Boolean!) {
    addServer(name: $name, takeover: $takeover) {
      server {
        id
        name
      }
      installCommand
    }
  }
`);

export const ReissueServer = graphql(`
  mutation ReissueServer($id: ID!) {
    reissueServerBootstrap(id: $id) {
      server {
        id
        name
        connected
        bootstrapExpiresAt
      }
      installCommand
    }
  }
`);

export const DrainServer = graphql(`
  mutation DrainServer($id: ID!, $drain: Boolean!) {
    drainServer(id: $id, drain: $drain) {
      id
      draining
    }
  }
`);

export const RemoveServer = graphql(`
  mutation RemoveServer($id: ID!) {
    removeServer(id: $id)
  }
`);
