/** Owns the tools for backups. */
import * as z from 'zod';
import { toolInput } from '../input.ts';
import type { DocumentTool } from './document-tool.ts';

const id = z.string().min(1).max(100);
/** Redacts with the secrets of the whole team, because the messages of programs may hold anything. */
const ofAny = (): undefined => undefined;
const restoreFields = 'id appId databaseId backupRunId status error';

export const backupTools: readonly DocumentTool[] = [
  {
    name: 'restore_backup',
    description:
      'Overwrite the live data of an app or database with a backup (see list_backups). Ask restoreRun(id) { status log error } by graphql_query how it goes.',
    group: 'backups',
    effect: 'destroys',
    needs: 'restore_backups',
    input: toolInput({ runId: id }),
    document: `mutation ($runId: ID!) { restoreBackup(runId: $runId) { ${restoreFields} } }`,
    redacted: ofAny,
  },
];
