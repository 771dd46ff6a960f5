/**
 * Owns what every GraphQL peer serves: the part of Gangway's schema that the scenarios ask for, data
 * from one JSON file, and the check of the one token there is.
 *
 * Everything a field may be asked for lies ready in memory as it is answered, dates and addresses as
 * text, so that no resolver is run but those of the two roots: what is measured is each server itself.
 */
import { readFileSync } from 'node:fs';
import { GraphQLError } from 'graphql';

export interface Served {
  token: string;
  viewer: object;
  /** The oldest first. */
  apps: readonly { id: string }[];
}

export const typeDefs = /* GraphQL */ `
  scalar DateTime

  type Query {
    me: Viewer
    apps(after: String, first: Int = 100): AppConnection!
  }

  type Viewer {
    id: ID!
    email: String!
    name: String!
    isInstanceAdmin: Boolean!
    twoFactorEnabled: Boolean!
  }

  type PageInfo {
    endCursor: String
    hasNextPage: Boolean!
  }

  type AppConnection {
    nodes: [App!]!
    pageInfo: PageInfo!
    totalCount: Int!
  }

  enum DeploySource {
    COMPOSE
    GIT
    IMAGE
    UPLOAD
  }

  enum AppStatus {
    active
    building
    error
    idle
    queued
    stopped
  }

  type App {
    id: ID!
    slug: String!
    name: String!
    source: DeploySource!
    status: AppStatus!
    url: String
    folderId: ID
    serverId: ID!
    team: Team!
    upload: Upload
    git: GitSource
    image: String
    compose: String
    build: BuildConfig!
    resources: Resources!
    previewBranches: [String!]!
    deployHookEnabled: Boolean!
    autoDeploy: Boolean!
    latestDeployment: Deployment
    deployments(after: String, first: Int = 20): DeploymentConnection!
    createdAt: DateTime!
    updatedAt: DateTime!
  }

  type Team {
    id: ID!
    name: String!
    slug: String!
    requireTwoFactor: Boolean!
  }

  type Upload {
    filename: String!
    size: Float!
    uploadedAt: DateTime!
  }

  type GitSource {
    connectionId: ID
    repository: String!
    branch: String!
    path: String
  }

  type BuildConfig {
    buildCommand: String
    startCommand: String
    dockerfile: String
    outputDir: String
    nodeVersion: String
    port: Int
    healthPath: String
  }

  type Resources {
    memoryMb: Int
    cpus: Float
    pids: Int
    replicas: Int!
  }

  enum DeploymentStatus {
    building
    canceled
    failed
    queued
    ready
    starting
    superseded
  }

  type DeploymentConnection {
    nodes: [Deployment!]!
    pageInfo: PageInfo!
  }

  type Deployment {
    id: ID!
    appId: ID!
    status: DeploymentStatus!
    trigger: String!
    url: String
    branch: String
    commitSha: String
    commitMessage: String
    error: String
    queuePosition: Int
    canRollback: Boolean!
    createdAt: DateTime!
    startedAt: DateTime
    finishedAt: DateTime
  }
`;

/** What the file named by the program's first argument says. */
export function readServed(): Served {
  return JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Served;
}

interface PageArguments {
  after?: string | null;
  first: number;
}

interface Resolvers {
  [type: string]: Record<string, unknown>;
  Query: {
    me: () => object;
    apps: (root: unknown, page: PageArguments) => object;
  };
}

export function resolversOf({ viewer, apps }: Served): Resolvers {
  return {
    Query: {
      me: () => viewer,
      apps: (_root, { after, first }) => {
        const start = after == null ? 0 : apps.findIndex((app) => cursorOf(app) === after) + 1;
        const nodes = apps.slice(start, start + first);
        const last = nodes.at(-1);
        return {
          nodes,
          totalCount: apps.length,
          pageInfo: {
            endCursor: last === undefined ? null : cursorOf(last),
            hasNextPage: start + nodes.length < apps.length,
          },
        };
      },
    },
  };
}

function cursorOf({ id }: { id: string }): string {
  return Buffer.from(`app:${id}`).toString('base64url');
}

/** Throws for any other token than the one served, as a GraphQL error that each server answers. */
export function admit({ token }: Served, authorization: string | null | undefined): void {
  if (authorization === `Bearer ${token}`) return;
  throw new GraphQLError('Not authenticated', { extensions: { code: 'UNAUTHENTICATED' } });
}
