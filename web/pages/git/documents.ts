/** Owns what the page of git connections asks for. */
import { graphql, type ResultOf } from '../../api/graphql.ts';

const ConnectionFields = graphql(`
  fragment ConnectionFields on GitConnection {
    id
    provider
    label
    baseUrl
    appCount
  }
`);

export const ConnectionsQuery = graphql(
  `
    query GitPage {
      gitConnections {
        ...ConnectionFields
      }
    }
  `,
  [ConnectionFields],
);

export type GitConnection = ResultOf<typeof ConnectionsQuery>['gitConnections'][number];

/** Asked for when somebody wants to see it: whoever knows it may deliver to a connection without a secret. */
export const WebhookQuery = graphql(`
  query GitWebhook {
    gitConnections {
      id
      webhookUrl
    }
  }
`);

export const ConnectProvider = graphql(
  `
    mutation ConnectGitProvider($input: ConnectGitProviderInput!) {
      connectGitProvider(input: $input) {
        ...ConnectionFields
      }
    }
  `,
  [ConnectionFields],
);

export const StartGithub = graphql(`
  mutation StartGithubConnect($org: String) {
    startGithubConnect(org: $org) {
      actionUrl
      manifest
    }
  }
`);

export const RemoveConnection = graphql(`
  mutation RemoveGitConnection($id: ID!) {
    removeGitConnection(id: $id)
  }
`);

export const AppsOfConnections = graphql(`
  query AppsOfConnections($after: String) {
    apps(first: 500, after: $after) {
      nodes {
        id
        name
        git {
          connectionId
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`);
