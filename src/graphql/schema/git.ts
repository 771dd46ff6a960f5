/** Owns connections to git providers, and what they delivered, in the schema. */
import { activityLog } from '../../actors/activity/protocol.ts';
import { appActor } from '../../actors/app/protocol.ts';
import type { GithubConnectStart } from '../../actors/git/github-connects.ts';
import { gitActor } from '../../actors/git/protocol.ts';
import { teamActor } from '../../actors/team/protocol.ts';
import { webhookToken } from '../../git/deliveries/webhook-token.ts';
import type { GitRepository } from '../../git/providers/provider.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { GitConnectionRecord, GitDeliveryRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { askActor, requireApp, requireSignedIn, writeSide } from '../access.ts';
import type { GraphContext } from '../context.ts';
import { boundedCount } from '../page.ts';
import { builder, secret } from './builder.ts';
import {
  actingTeam,
  appByAppId,
  gitConnectionByConnectionId,
  gitConnectionById,
  needs,
  personInTeam,
} from './needs.ts';

const deliveriesDefault = 50;
const deliveriesMax = 100;
const searchMax = 200;

const GitConnectionType = builder
  .objectRef<Readonly<GitConnectionRecord>>('GitConnection')
  .implement({
    description: 'Its token and the secret of its webhook are never shown again.',
    fields: (t) => ({
      id: t.exposeID('id'),
      provider: t.exposeString('provider'),
      label: t.exposeString('label'),
      baseUrl: t.exposeString('baseUrl'),
      webhookUrl: t.string({
        ...secret,
        description: 'Where the provider delivers pushes to, as application/json.',
        resolve: ({ id, github }, _args, { read }) => {
          const { publicUrl, webhookKey } = read.settings;
          const root = read.reader.get(tables.instance, 'instance')?.publicUrl ?? publicUrl;
          if (github !== undefined) return `${root}/api/github/webhook`;
          return `${root}/api/git/webhook/${webhookToken(webhookKey, id)}`;
        },
      }),
      appCount: t.int({
        resolve: ({ id }, _args, { read }) => read.reader.count(tables.apps, 'connection', [id]),
      }),
    }),
  });

const GitRepositoryType = builder.objectRef<GitRepository>('GitRepository').implement({
  fields: (t) => ({
    fullName: t.exposeString('fullName'),
    defaultBranch: t.exposeString('defaultBranch'),
    private: t.exposeBoolean('private'),
  }),
});

const GitDeliveryType = builder.objectRef<Readonly<GitDeliveryRecord>>('GitDelivery').implement({
  description: 'A push that a provider delivered, for one app of its repository.',
  fields: (t) => ({
    id: t.exposeID('id'),
    connectionId: t.exposeID('connectionId', { nullable: true }),
    appId: t.exposeID('appId', { nullable: true }),
    event: t.exposeString('event', { description: 'push, tag or delete.' }),
    deliveryId: t.exposeString('deliveryId', {
      nullable: true,
      description: 'As the provider names it.',
    }),
    branch: t.string({
      nullable: true,
      resolve: ({ refKind, refName }) => (refKind === 'branch' ? refName : null),
    }),
    commitSha: t.exposeString('commitSha', { nullable: true }),
    outcome: t.exposeString('outcome', {
      description:
        'received, deployed, preview (its branch has one, or waits for approval of it), unchanged (the commit is live or queued), outdated (a later push came first), ' +
        'skipped ([skip ci]), unwatched (it changed nothing that the app watches), other_branch, tag, branch_deleted, auto_deploy_off or failed.',
    }),
    receivedAt: t.expose('receivedAtMs', { type: 'DateTime' }),
    deploymentId: t.exposeID('deploymentId', { nullable: true }),
  }),
});

const GithubConnectStartType = builder
  .objectRef<GithubConnectStart>('GithubConnectStart')
  .implement({
    fields: (t) => ({
      actionUrl: t.exposeString('actionUrl', { description: 'Where the form is posted to.' }),
      manifest: t.exposeString('manifest', { description: 'Its field `manifest`: JSON.' }),
      state: t.exposeString('state', { description: 'Part of actionUrl; it counts once.' }),
    }),
  });

const ConnectGitProviderInput = builder.inputType('ConnectGitProviderInput', {
  fields: (t) => ({
    provider: t.string({
      required: true,
      description: 'gitlab, gitea, forgejo, gogs, bitbucket or generic.',
    }),
    label: t.string({ required: true }),
    baseUrl: t.string({ required: true, description: 'Such as https://gitlab.example.com.' }),
    token: t.string({ description: 'Reads the repositories; without one, public ones alone.' }),
    username: t.string({ description: 'Beside the token; default what the provider takes.' }),
    webhookSecret: t.string({
      description:
        'What the provider signs its deliveries with. Without one only a generic provider may deliver.',
    }),
  }),
});

builder.queryFields((t) => ({
  gitConnections: t.field({
    type: [GitConnectionType],
    ...needs('manage_git', actingTeam, {
      description: 'Those of the acting team, the oldest first.',
      resolve: (teamId, _args, { read }) =>
        read.reader.list(tables.gitConnections, 'team', [teamId], { limit: Infinity }),
    }),
  }),
  // It asks others: the gate knows it by its name (`gate/documents.ts`).
  gitRepositories: t.field({
    type: [GitRepositoryType],
    ...needs('manage_git', gitConnectionByConnectionId, {
      description: 'Those that the token of the connection reaches, at most 100.',
      args: { search: t.arg.string() },
      resolve: ({ id }, { search }, context) => {
        const wanted = (search ?? '').trim();
        if (wanted.length > searchMax) {
          throw new ServiceError('BAD_USER_INPUT', 'search has at most 200 characters.');
        }
        const { repositories } = writeSide(context);
        if (!repositories) throw new Error('No provider can be asked here.');
        return repositories(id, wanted);
      },
    }),
  }),
  gitDeliveries: t.field({
    type: [GitDeliveryType],
    ...needs('view_activity', appByAppId, {
      description: 'Of an app, the newest first; kept for 72 hours at least.',
      args: { first: t.arg.int({ defaultValue: deliveriesDefault }) },
      resolve: ({ id }, { first }, { read }) =>
        read.reader.list(tables.gitDeliveries, 'app', [id], {
          reverse: true,
          limit: boundedCount('first', first, deliveriesDefault, deliveriesMax),
        }),
    }),
  }),
}));

builder.mutationFields((t) => ({
  connectGitProvider: t.field({
    type: GitConnectionType,
    ...needs('manage_git', actingTeam, {
      description: 'The provider is not asked.',
      args: { input: t.arg({ type: ConnectGitProviderInput, required: true }) },
      resolve: (teamId, { input }, context) => {
        const { provider, label, baseUrl } = input;
        const { token = null, username = null, webhookSecret = null } = input;
        return askActor(context, teamActor.at(teamId), {
          type: 'git-connect',
          connectionId: newId('gc'),
          connection: { provider, label, baseUrl, token, username, webhookSecret },
        });
      },
    }),
  }),
  startGithubConnect: t.field({
    type: GithubConnectStartType,
    ...secret,
    ...needs('manage_git', personInTeam, {
      description:
        'Begins to connect the acting team to GitHub: a browser of this session posts the manifest, and GitHub ' +
        'leads it back. For ten minutes; not with an API token.',
      args: {
        org: t.arg.string({
          description: 'The organization that will own the App; default oneself.',
        }),
      },
      resolve: async ({ sessionId, teamId }, { org }, context) => {
        const { github, actors } = writeSide(context);
        if (!github) throw new Error('GitHub cannot be connected here.');
        const begun = github.start(sessionId, teamId, org ?? null);
        // It shows a secret and changes nothing.
        await actors.ask(activityLog, { type: 'note' });
        return begun;
      },
    }),
  }),
  removeGitConnection: t.boolean(
    needs('manage_git', gitConnectionById, {
      description: 'Its deliveries go with it. Apps that name it stay, and fetch no more.',
      resolve: ({ id }, _args, context) => askActor(context, gitActor.at(id), { type: 'delete' }),
    }),
  ),
  replayGitDelivery: t.field({
    type: GitDeliveryType,
    description:
      'deploy_apps. Deploys the branch of the app again for a push to it, whatever was deployed since.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, context) => {
      const delivery = requireDelivery(context, id);
      const message = { type: 'git-push', delivery, byHand: true } as const;
      return askActor(context, appActor.at(delivery.appId), message);
    },
  }),
}));

function requireDelivery(context: GraphContext, id: string): Readonly<GitDeliveryRecord> {
  requireSignedIn(context);
  const delivery = context.read.reader.get(tables.gitDeliveries, id);
  if (!delivery) throw new ServiceError('NOT_FOUND', 'No such delivery.');
  requireApp(context, delivery.appId, 'deploy_apps');
  return delivery;
}
