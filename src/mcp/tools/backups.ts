/** Owns the tools for backups. */
import type { GraphQLSchema } from 'graphql';
import * as z from 'zod';
import type { Variables } from '../../graphql/execution/operation.ts';
import type { Tool, ToolArguments, ToolCall } from '../tool.ts';
import { toolInput } from '../input.ts';
import { outputOf } from '../output.ts';
import { appArgument, withAppId, without } from './app-argument.ts';
import { pageArguments } from './apps.ts';
import { awaitBackup, runFields, type RunState } from './await-backup.ts';
import { type DocumentTool, outcomeOf } from './document-tool.ts';

const restoreFields = 'id appId databaseId backupRunId status error';
const databaseArgument = z.string().min(1).max(100);
/** One of both. */
const target = { appId: appArgument.optional(), databaseId: databaseArgument.optional() };
/** Redacts with the secrets of the whole team, because servers may say anything of a failed one. */
const ofAny = (): undefined => undefined;

export function backupTools(schema: GraphQLSchema): readonly (Tool | DocumentTool)[] {
  return [listBackups, runBackup(schema), restoreBackup];
}

const listBackups: DocumentTool = {
  name: 'list_backups',
  description: 'Backups, the newest first: of an app, a database or the team; and destinations.',
  group: 'backups',
  effect: 'reads',
  needs: null,
  input: toolInput({
    ...target,
    ...pageArguments,
    first: pageArguments.first.default(20),
  }),
  document: `query ($appId: ID, $databaseId: ID, $first: Int, $after: String) {
      backupRuns(appId: $appId, databaseId: $databaseId, first: $first, after: $after) {
        nodes { ${runFields} } pageInfo { hasNextPage endCursor } }
      backupDestinations { id name } }`,
  variables: ofTarget,
  redacted: ofAny,
  repeatable: true,
};

const backup = `mutation ($appId: ID, $databaseId: ID, $destinationId: ID!) {
  runBackup(appId: $appId, databaseId: $databaseId, destinationId: $destinationId) {
    ${runFields} } }`;

function runBackup(schema: GraphQLSchema): Tool {
  return {
    name: 'run_backup',
    description:
      'Back up an app or a database. Answers when it has ended, or with the state so far: then see list_backups.',
    group: 'backups',
    effect: 'changes',
    idempotent: false,
    needs: 'manage_backups',
    input: toolInput({ ...target, destinationId: z.string().min(1).max(100) }),
    output: outputOf(schema, backup),
    slow: true,
    run: async (call, args) => {
      const reply = await call.graphql(backup, await ofTarget(args, call));
      if (!reply.clean) return outcomeOf(reply);
      const { runBackup: begun } = JSON.parse(reply.dataJson) as { runBackup: RunState };
      const seen = await awaitBackup(call, begun);
      if (seen.run === null) return { kind: 'failed', sentence: seen.sentence };
      await call.openSecrets();
      return { kind: 'structured', json: call.redact(JSON.stringify({ runBackup: seen.run })) };
    },
  };
}

const restoreBackup: DocumentTool = {
  name: 'restore_backup',
  description:
    'Overwrite the live data of an app or database with a backup. graphql_query of restoreRun(id: …) { status log } says how it goes.',
  group: 'backups',
  effect: 'destroys',
  needs: 'restore_backups',
  input: toolInput({ runId: z.string().min(1).max(100) }),
  document: `mutation ($runId: ID!) { restoreBackup(runId: $runId) { ${restoreFields} } }`,
  redacted: ofAny,
};

function ofTarget(args: ToolArguments, call: ToolCall): Variables | Promise<Variables> {
  return args['appId'] === undefined ? without(args, 'team') : withAppId('appId')(args, call);
}
