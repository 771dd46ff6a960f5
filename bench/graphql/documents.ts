/** Owns the documents that the GraphQL scenarios ask with, each named so that none is anonymous. */

const app = 'id slug name source status url createdAt';

export const small = `query Small {
  me { id email name }
  apps(first: 20) { nodes { ${app} } totalCount pageInfo { hasNextPage endCursor } }
}`;

const deployment = 'id status trigger commitSha commitMessage branch createdAt finishedAt';

/** What a dashboard's list of apps shows. */
export const medium = `query Medium {
  me { id email name }
  apps(first: 100) {
    nodes { ${app} latestDeployment { ${deployment} } }
    totalCount pageInfo { hasNextPage endCursor }
  }
}`;

/** All that there is to know of an app but what runs of it, which has no place in a peer. */
const everything = `${app} updatedAt folderId serverId image compose previewBranches
  deployHookEnabled autoDeploy
  team { id name slug requireTwoFactor }
  upload { filename size uploadedAt }
  git { connectionId repository branch path }
  build { buildCommand startCommand dockerfile outputDir nodeVersion port healthPath }
  resources { memoryMb cpus pids replicas }
  latestDeployment { ...Run }
  deployments(first: 2) { nodes { ...Run } pageInfo { hasNextPage endCursor } }`;

const run = `fragment Run on Deployment {
  id appId status trigger url branch commitSha commitMessage error queuePosition canRollback
  createdAt startedAt finishedAt
}`;

export const viewer = `query Viewer { me { id email name isInstanceAdmin twoFactorEnabled } }`;

/** The largest page of apps there is, with everything: just below the limit of cost. */
export const heavy = `query Heavy {
  apps(first: 500) { nodes { ${everything} } totalCount pageInfo { hasNextPage endCursor } }
}
${run}`;

/** The same question in a text that was never seen: its operation has another name. */
export function renamed(document: string, number: number): string {
  return document.replace(/^query \w+/, (start) => `${start}${padded(number)}`);
}

export function padded(number: number): string {
  return String(number).padStart(6, '0');
}
