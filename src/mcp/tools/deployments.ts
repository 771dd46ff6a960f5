/** Owns the tools for deployments, and what is told of one that is waited for. */
import type { GraphQLSchema } from 'graphql';
import * as z from 'zod';
import type { Tool, ToolArguments, ToolCall, ToolOutcome } from '../contract.ts';
import { toolInput } from '../input.ts';
import { outputOf } from '../output.ts';
import { endOfText } from '../results.ts';
import { appArgument, appIdIn, appIdOf, withAppId } from './app-argument.ts';
import { pageArguments } from './apps.ts';
import { type DocumentTool, documentTool, outcomeOf } from './document-tool.ts';
import { awaitDeployment, isOpen } from './await-deployment.ts';
import { asData } from './logs.ts';

const deploymentFields =
  'id appId status trigger url error commitSha branch createdAt startedAt finishedAt';
const deploymentArgument = z.string().min(1).max(100);

export function deploymentTools(schema: GraphQLSchema): Tool[] {
  return [
    ...documents.map((tool) => documentTool(schema, tool)),
    rollbackApp(schema),
    deployApp(schema),
    waitForDeployment(),
  ];
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
    absent: ['app', 'app'],
    redacted: appIdIn,
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
    absent: ['deployment', 'deployment'],
    redacted: () => undefined,
  },
  {
    name: 'cancel_deployment',
    description: 'Cancel a deployment that is queued or building; false when it had finished.',
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
const kept = `query ($id: ID) { app(id: $id) {
  deployments(first: 50) { nodes { id canRollback } } } }`;

function rollbackApp(schema: GraphQLSchema): Tool {
  return {
    name: 'rollback_app',
    description:
      'Run a kept earlier release again; without deploymentId the one before the live one.',
    group: 'deployments',
    effect: 'destroys',
    idempotent: false,
    needs: 'deploy_apps',
    input: toolInput({ appId: appArgument, deploymentId: deploymentArgument.optional() }),
    output: outputOf(schema, rollback),
    run: async (call, args) => {
      const deploymentId = args['deploymentId'] ?? (await lastKept(call, args));
      if (deploymentId === undefined) {
        return { kind: 'failed', sentence: 'The app has no earlier release that is kept.' };
      }
      return outcomeOf(await call.graphql(rollback, { deploymentId }));
    },
  };
}

async function lastKept(call: ToolCall, args: ToolArguments): Promise<string | undefined> {
  const { dataJson } = await call.graphql(kept, { id: await appIdOf(args, call) });
  const data = JSON.parse(dataJson) as {
    app?: { deployments: { nodes: { id: string; canRollback: boolean }[] } } | null;
  } | null;
  return data?.app?.deployments.nodes.find((one) => one.canRollback)?.id;
}

const redeploy = `mutation ($appId: ID!) { redeploy(appId: $appId) { ${deploymentFields} } }`;
const timeoutArgument = z
  .int()
  .min(1)
  .max(600)
  .default(55)
  .describe('Answers with the state so far after this; 55 at most without a progress token.');

function deployApp(schema: GraphQLSchema): Tool {
  return {
    name: 'deploy_app',
    description: 'Build and run the newest source of an app. With wait, answers when it has ended.',
    group: 'deployments',
    effect: 'changes',
    idempotent: false,
    needs: 'deploy_apps',
    input: toolInput({
      appId: appArgument,
      wait: z.boolean().default(false),
      timeoutSeconds: timeoutArgument,
    }),
    output: outputOf(schema, redeploy),
    slow: true,
    run: async (call, args) => {
      const reply = await call.graphql(redeploy, { appId: await appIdOf(args, call) });
      if (!reply.clean || args['wait'] !== true) return outcomeOf(reply);
      const { redeploy: queued } = JSON.parse(reply.dataJson) as { redeploy: { id: string } };
      return await waited(call, 'redeploy', queued.id, args);
    },
  };
}

function waitForDeployment(): Tool {
  return {
    name: 'wait_for_deployment',
    description: 'Wait until a deployment has ended; a failed one comes with the end of its log.',
    group: 'deployments',
    effect: 'reads',
    idempotent: true,
    needs: null,
    input: toolInput({ deploymentId: deploymentArgument, timeoutSeconds: timeoutArgument }),
    output: {
      type: 'object',
      properties: { deployment: { type: 'object' } },
      required: ['deployment'],
    },
    slow: true,
    run: (call, args) => waited(call, 'deployment', String(args['deploymentId']), args),
  };
}

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
  const shown = log === undefined ? undefined : endOfText(call.redact(log, state.appId), logBytes);
  const told = {
    [member]: state,
    ...(isOpen(state) && { note: 'Not ended yet: call wait_for_deployment again.' }),
    ...(shown !== undefined && { log: shown }),
  };
  const json = call.redact(JSON.stringify(told), state.appId);
  if (shown === undefined) return { kind: 'structured', json };
  const facts = call.redact(JSON.stringify(state), state.appId);
  return { kind: 'structured', json, text: `${facts}\n${asData(shown, 'build log')}` };
}

// Twice in a result.
const logBytes = 9_000;
