/** Owns the tools for deployments, and the answer of one that waits for a deployment. */
import type { GraphQLSchema } from 'graphql';
import * as z from 'zod';
import type { Tool, ToolArguments, ToolCall, ToolOutcome } from '../tool.ts';
import { toolInput } from '../input.ts';
import { outputOf } from '../output.ts';
import { appArgument, appNamedIn, appIdOf, noApp, withAppId } from './app-argument.ts';
import { pageArguments } from './apps.ts';
import { type DocumentTool, outcomeOf } from './document-tool.ts';
import { awaitDeployment, isOpen, noDeployment } from './await-deployment.ts';
import { chooseLines } from './log-lines.ts';
import { asData } from './logs.ts';

const deploymentFields =
  'id appId status trigger url error commitSha branch createdAt startedAt finishedAt';
const deploymentArgument = z.string().min(1).max(100);

export function deploymentTools(schema: GraphQLSchema): readonly (Tool | DocumentTool)[] {
  return [...documents, rollbackApp(schema), deployApp, waitForDeployment];
}

const documents: readonly DocumentTool[] = [
  {
    name: 'list_deployments',
    description: 'Deployments of an app, the newest first.',
    group: 'deployments',
    effect: 'reads',
    needs: null,
    input: toolInput({
      appId: appArgument,
      ...pageArguments,
      first: pageArguments.first.default(20),
    }),
    document: `query ($id: ID, $first: Int, $after: String) { app(id: $id) {
      deployments(first: $first, after: $after) {
        nodes { id status trigger error commitSha commitMessage canRollback createdAt finishedAt }
        pageInfo { hasNextPage endCursor } } } }`,
    variables: withAppId(),
    absent: ['app', noApp],
    redacted: appNamedIn,
  },
  {
    name: 'get_deployment',
    description: 'One deployment: status, error, commit.',
    group: 'deployments',
    effect: 'reads',
    needs: null,
    input: toolInput({ deploymentId: deploymentArgument }),
    document: `query ($deploymentId: ID!) { deployment(id: $deploymentId) {
      ${deploymentFields} commitMessage queuePosition canRollback } }`,
    absent: ['deployment', noDeployment],
    redacted: (_args, json) => /"appId":"(\w+)"/.exec(json)?.[1],
  },
  {
    name: 'cancel_deployment',
    description: 'Cancel a deployment; false when it had ended.',
    group: 'deployments',
    effect: 'changes',
    idempotent: true,
    needs: 'deploy_apps',
    input: toolInput({ deploymentId: deploymentArgument }),
    document: 'mutation ($deploymentId: ID!) { cancelDeployment(id: $deploymentId) }',
  },
];

const rollback = `mutation ($deploymentId: ID!) {
  rollbackDeployment(deploymentId: $deploymentId) { ${deploymentFields} } }`;
const noRelease =
  'There is no such earlier release of this app to run: list_deployments says canRollback of each.';
const one = `query ($id: ID!) { deployment(id: $id) { id appId canRollback } }`;
const newest = `query ($id: ID) { app(id: $id) {
  deployments(first: 100) { nodes { id appId canRollback } } } }`;

function rollbackApp(schema: GraphQLSchema): Tool {
  return {
    name: 'rollback_app',
    description:
      'Run a kept earlier release again: deploymentId, or the newest that is not live. See wait_for_deployment.',
    group: 'deployments',
    effect: 'destroys',
    idempotent: false,
    needs: 'deploy_apps',
    input: toolInput({ appId: appArgument, deploymentId: deploymentArgument.optional() }),
    output: outputOf(schema, rollback),
    run: async (call, args) => {
      const deploymentId = await releaseOf(call, args);
      if (deploymentId === undefined) return { kind: 'failed', sentence: noRelease };
      return outcomeOf(await call.graphql(rollback, { deploymentId }));
    },
  };
}

interface Release {
  id: string;
  appId: string;
  canRollback: boolean;
}

/** The id of the deployment whose release is to run: one of this app, and kept; else undefined. */
async function releaseOf(call: ToolCall, args: ToolArguments): Promise<string | undefined> {
  const appId = await appIdOf(args, call);
  const { deploymentId } = args;
  const { dataJson } = await (deploymentId === undefined
    ? call.graphql(newest, { id: appId })
    : call.graphql(one, { id: deploymentId }));
  const data = JSON.parse(dataJson) as {
    app?: { deployments: { nodes: Release[] } } | null;
    deployment?: Release | null;
  } | null;
  const releases = data?.app?.deployments.nodes ?? [data?.deployment];
  return releases.find((each) => each?.appId === appId && each.canRollback)?.id;
}

const redeploy = `mutation ($appId: ID!) { redeploy(appId: $appId) { ${deploymentFields} } }`;
const timeoutArgument = z
  .int()
  .min(1)
  .max(600)
  .default(55)
  .describe('Answers with the state so far after this; 55 at most without a progress token.');

const deployApp: Tool = {
  name: 'deploy_app',
  description:
    'Build and run the newest source of an app. With wait, answers when it has ended; else see wait_for_deployment.',
  group: 'deployments',
  effect: 'changes',
  idempotent: false,
  needs: 'deploy_apps',
  input: toolInput({
    appId: appArgument,
    wait: z.boolean().default(false),
    timeoutSeconds: timeoutArgument,
  }),
  output: null,
  slow: true,
  run: async (call, args) => {
    const reply = await call.graphql(redeploy, { appId: await appIdOf(args, call) });
    if (!reply.clean) return outcomeOf(reply);
    if (args['wait'] !== true) return { kind: 'text', text: reply.dataJson };
    const { redeploy: queued } = JSON.parse(reply.dataJson) as { redeploy: { id: string } };
    return await waited(call, 'redeploy', queued.id, args);
  },
};

const waitForDeployment: Tool = {
  name: 'wait_for_deployment',
  description: 'Wait until a deployment has ended; a failed one comes with the end of its log.',
  group: 'deployments',
  effect: 'reads',
  idempotent: true,
  needs: null,
  input: toolInput({ deploymentId: deploymentArgument, timeoutSeconds: timeoutArgument }),
  output: null,
  slow: true,
  run: (call, args) => waited(call, 'deployment', String(args['deploymentId']), args),
};

async function waited(
  call: ToolCall,
  member: string,
  deploymentId: string,
  args: ToolArguments,
): Promise<ToolOutcome> {
  const timeoutMs = Math.min(Number(args['timeoutSeconds']) * 1000, call.patienceMs);
  const seen = await awaitDeployment(call, deploymentId, timeoutMs);
  if (seen.state === null) return { kind: 'failed', sentence: seen.sentence };
  const { log, ...state } = seen.state;
  const told = {
    [member]: state,
    ...(isOpen(state) && { note: 'Not ended yet: call wait_for_deployment again.' }),
  };
  await call.openSecrets(state.appId);
  const json = call.redact(JSON.stringify(told), state.appId);
  if (log === undefined) return { kind: 'text', text: json };
  const lines = JSON.parse(call.redact(JSON.stringify(log), state.appId)) as string[];
  const bytesMax = Math.max(logBytesMin, answerBytes - Buffer.byteLength(JSON.stringify(json)));
  const end = chooseLines(lines, { from: 'end', linesMax: lines.length, bytesMax });
  const shown = asData(end.lines.join('\n'), 'end of the build log');
  return { kind: 'content', content: [json, shown].map((text) => ({ type: 'text', text })) };
}

// The state comes first. The end of the log gets the room that is left.
const answerBytes = 22_000;
const logBytesMin = 1_000;
