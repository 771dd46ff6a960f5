/** Owns the tools for backups. */
import * as z from 'zod';
import type { Variables } from '../../graphql/execution/operation.ts';
import type { ToolArguments, ToolCall } from '../tool.ts';
import { toolInput } from '../input.ts';
import { appArgument, withAppId, without } from './app-argument.ts';
import { pageArguments } from './apps.ts';
import type { DocumentTool } from './document-tool.ts';

const fields = 'id appId databaseId destinationId status sizeBytes error startedAt finishedAt';
const restoreFields = 'id appId databaseId backupRunId status error';
const databaseArgument = z.string().min(1).max(100);
/** One of both. */
const target = { appId: appArgument.optional(), databaseId: databaseArgument.optional() };
/** Redacts with the secrets of the whole team, because servers may say anything of a failed one. */
const ofAny = (): undefined => undefined;

export const backupTools: readonly DocumentTool[] = [
  {
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
        nodes { ${fields} } pageInfo { hasNextPage endCursor } }
      backupDestinations { id name } }`,
    variables: ofTarget,
    redacted: ofAny,
    repeatable: true,
  },
  {
    name: 'run_backup',
    description: 'Begin a backup of an app or a database; list_backups says how it ends.',
    group: 'backups',
    effect: 'changes',
    idempotent: false,
    needs: 'manage_backups',
    input: toolInput({ ...target, destinationId: z.string().min(1).max(100) }),
    document: `mutation ($appId: ID, $databaseId: ID, $destinationId: ID!) {
      runBackup(appId: $appId, databaseId: $databaseId, destinationId: $destinationId) {
        ${fields} } }`,
    variables: ofTarget,
    redacted: ofAny,
  },
  {
    name: 'restore_backup',
    description:
      'Overwrite the live data of an app or database with a backup. graphql_query of restoreRun(id: …) { status log } says how it goes.',
    group: 'backups',
    effect: 'destroys',
    needs: 'restore_backups',
    input: toolInput({ runId: z.string().min(1).max(100) }),
    document: `mutation ($runId: ID!) { restoreBackup(runId: $runId) { ${restoreFields} } }`,
    redacted: ofAny,
  },
];

function ofTarget(args: ToolArguments, call: ToolCall): Variables | Promise<Variables> {
  return args['appId'] === undefined ? without(args, 'team') : withAppId('appId')(args, call);
}
