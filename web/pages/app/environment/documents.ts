/** Owns what the page of an app's variables asks for, and changes. */
import { graphql, type ResultOf } from '../../../api/graphql.ts';

const EnvFields = graphql(`
  fragment EnvFields on EnvVar {
    id
    key
    masked
    value
    isSecret
    targets
    updatedAt
  }
`);

export const EnvQuery = graphql(
  `
    query AppEnvironment($appId: ID!) {
      env(appId: $appId) {
        ...EnvFields
      }
      databases {
        id
        name
      }
    }
  `,
  [EnvFields],
);

export const UpsertEnv = graphql(
  `
    mutation UpsertEnv($appId: ID!, $entries: [EnvEntryInput!]!) {
      upsertEnv(appId: $appId, entries: $entries) {
        ...EnvFields
      }
    }
  `,
  [EnvFields],
);

export const DeleteEnv = graphql(`
  mutation DeleteEnv($appId: ID!, $key: String!) {
    deleteEnv(appId: $appId, key: $key)
  }
`);

export const RevealEnv = graphql(`
  mutation RevealEnv($appId: ID!, $key: String!) {
    revealEnv(appId: $appId, key: $key)
  }
`);

export type Variable = ResultOf<typeof EnvFields>;
export type Databases = ResultOf<typeof EnvQuery>['databases'];
