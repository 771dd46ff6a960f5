/** Owns the tools for teams and apps. */
import * as z from 'zod';
import { ServiceError } from '../../lib/errors.ts';
import type { Tool, ToolArguments } from '../tool.ts';
import { toolInput } from '../input.ts';
import { listSchema } from '../output.ts';
import type { Rights } from '../rights.ts';
import { appArgument, appNamedIn, noApp, withAppId, without } from './app-argument.ts';
import { type DocumentTool, outcomeOf } from './document-tool.ts';

export const pageArguments = {
  first: z.int().min(1).max(100).default(50),
  after: z.string().max(200).optional().describe('endCursor of the last page.'),
};

const appFields = 'id name slug source status url';

const readTools: readonly DocumentTool[] = [
  {
    name: 'list_apps',
    description: 'Apps of the team: id, slug, status, address.',
    group: 'apps',
    effect: 'reads',
    needs: null,
    input: toolInput({
      search: z.string().max(100).optional().describe('Part of name or slug.'),
      folderId: z.string().max(100).optional(),
      ...pageArguments,
    }),
    document: `query ($first: Int, $after: String, $search: String, $folderId: ID) {
      apps(first: $first, after: $after, search: $search, folderId: $folderId) {
        nodes { ${appFields} } pageInfo { hasNextPage endCursor } totalCount } }`,
    redacted: () => undefined,
    // The answer is searched for secret variables, which are in the journal as well.
    repeatable: true,
  },
  {
    name: 'get_app',
    description: 'One app: settings, containers, latest deployment.',
    group: 'apps',
    effect: 'reads',
    needs: null,
    input: toolInput({ appId: appArgument }),
    document: `query ($id: ID) { app(id: $id) {
      ${appFields} folderId createdAt image compose autoDeploy previewBranches
      git { repository branch path }
      build { buildCommand startCommand outputDir dockerfile port healthPath nodeVersion }
      resources { memoryMb cpus pids replicas }
      edge { maintenance idleSeconds totalSeconds maxBodyMb maxConnections hsts accessLog }
      containers { name state startedAt } restarts lastExit { at code signal reason }
      latestDeployment { id status trigger commitSha error createdAt finishedAt } } }`,
    variables: withAppId(),
    absent: ['app', noApp],
    redacted: appNamedIn,
  },
];

const control = (verb: 'start' | 'stop' | 'restart', description: string): DocumentTool => ({
  name: `${verb}_app`,
  description,
  group: 'apps',
  effect: verb === 'stop' ? 'destroys' : 'changes',
  idempotent: verb !== 'restart',
  needs: 'control_apps',
  input: toolInput({ appId: appArgument }),
  document: `mutation ($id: ID!) { ${verb}App(id: $id) { ${appFields} } }`,
  variables: withAppId(),
});

const buildArguments = ['buildCommand', 'startCommand', 'healthPath'];

const sourceArguments: Readonly<Record<string, string>> = {
  GIT: 'repository',
  IMAGE: 'image',
  COMPOSE: 'compose',
};

/** Throws BAD_USER_INPUT with the argument that the source of an app lacks. */
function requireSource(args: ToolArguments): void {
  const source = String(args['source']);
  const needed = sourceArguments[source];
  if (needed === undefined || args[needed] !== undefined) return;
  throw new ServiceError('BAD_USER_INPUT', `An app with source ${source} needs ${needed}.`);
}

const changeTools: readonly DocumentTool[] = [
  {
    name: 'create_app',
    description:
      'Create an app; deploy_app runs it. For UPLOAD a person uploads the archive: MCP cannot.',
    group: 'apps',
    effect: 'changes',
    needs: 'create_apps',
    input: toolInput({
      name: z.string().min(1).max(100),
      source: z.enum(['UPLOAD', 'GIT', 'IMAGE', 'COMPOSE']),
      repository: z.string().max(2_000).optional().describe('GIT: https address.'),
      branch: z.string().max(300).optional(),
      image: z.string().max(500).optional(),
      compose: z.string().max(100_000).optional(),
      folderId: z.string().max(100).optional(),
      buildCommand: z.string().max(2_000).optional(),
      startCommand: z.string().max(2_000).optional(),
      healthPath: z.string().max(500).optional(),
    }),
    document: `mutation ($input: CreateAppInput!) { createApp(input: $input) { ${appFields} } }`,
    variables: (args) => {
      requireSource(args);
      const { repository, branch, buildCommand, startCommand, healthPath } = args;
      const rest = without(args, 'team', 'repository', 'branch', ...buildArguments);
      const build = { buildCommand, startCommand, healthPath };
      const isBuilt = Object.values(build).some((value) => value !== undefined);
      const git = { repository, branch: branch ?? 'main' };
      return {
        input: { ...rest, ...(repository !== undefined && { git }), ...(isBuilt && { build }) },
      };
    },
  },
  control('start', 'Start the last release of a stopped app.'),
  control('stop', 'Stop an app until start_app.'),
  control('restart', 'Restart an app; it gets its variables anew.'),
  {
    name: 'delete_app',
    description: 'Stop an app and move it to trash for 7 days.',
    group: 'apps',
    effect: 'destroys',
    idempotent: true,
    needs: 'delete_apps',
    input: toolInput({ appId: appArgument }),
    document: 'mutation ($id: ID!) { deleteApp(id: $id) }',
    variables: withAppId(),
  },
];

export const appTools = [...readTools, ...changeTools];

/** The teams of the connection, which `team` of the other tools takes. */
export function listTeams(rights: Rights): Tool {
  return {
    name: 'list_teams',
    description: 'Teams this connection can act in.',
    group: 'teams',
    effect: 'reads',
    idempotent: true,
    needs: null,
    input: toolInput({}),
    output: listSchema('teams', ['id', 'slug', 'name'], { isDefault: { type: 'boolean' } }),
    run: async (call) => {
      const reply = await call.graphql('query { myTeams { id slug name } }', {});
      if (!reply.clean) return outcomeOf(reply);
      const usable = new Set(rights.teamsOf(call.principal).map(({ id }) => id));
      const { myTeams } = JSON.parse(reply.dataJson) as { myTeams: Record<string, string>[] };
      const teams = myTeams
        .filter(({ id = '' }) => usable.has(id))
        .map((team) => ({ ...team, isDefault: team['id'] === call.principal.teamId }));
      return { kind: 'structured', json: JSON.stringify({ teams }) };
    },
  };
}
