/** Makes destinations, schedules and backups over the API. */
import { eventually } from './eventually.ts';
import type { Client } from './gangway-client.ts';

type Headers = Readonly<Record<string, string>>;

export async function makeDestination(
  client: Client,
  name: string,
  {
    encrypt = false,
    path = null,
    headers = {},
  }: { encrypt?: boolean; path?: string | null; headers?: Headers } = {},
): Promise<string> {
  const { createDestination } = await client.must<{ createDestination: { id: string } }>(
    'mutation($i: CreateDestinationInput!) { createDestination(input: $i) { id } }',
    { i: { name, kind: 'server', encrypt, path } },
    headers,
  );
  return createDestination.id;
}

export async function makeSchedule(
  client: Client,
  input: object,
  headers: Headers = {},
): Promise<string> {
  const { createBackupSchedule } = await client.must<{ createBackupSchedule: { id: string } }>(
    'mutation($i: CreateBackupScheduleInput!) { createBackupSchedule(input: $i) { id } }',
    { i: { cron: '@yearly', ...input } },
    headers,
  );
  return createBackupSchedule.id;
}

export interface Run {
  id: string;
  appId: string | null;
  databaseId: string | null;
  instance: boolean;
  destinationId: string;
  status: string;
  sizeBytes: number | null;
  progressBytes: number | null;
  sha256: string | null;
  encrypted: boolean;
  verifiedAt: string | null;
  error: string | null;
  startedAt: string;
  finishedAt: string | null;
}

const fields = `id appId databaseId instance destinationId status sizeBytes progressBytes sha256 encrypted
  verifiedAt error startedAt finishedAt`;

export async function beginBackup(
  client: Client,
  of: { appId?: string; databaseId?: string; destinationId: string },
  headers: Headers = {},
): Promise<Run> {
  const { runBackup } = await client.must<{ runBackup: Run }>(
    `mutation($a: ID, $b: ID, $d: ID!) {
      runBackup(appId: $a, databaseId: $b, destinationId: $d) { ${fields} } }`,
    { a: of.appId ?? null, b: of.databaseId ?? null, d: of.destinationId },
    headers,
  );
  return runBackup;
}

export async function beginInstanceBackup(client: Client, destinationId: string): Promise<Run> {
  const { runInstanceBackup } = await client.must<{ runInstanceBackup: Run }>(
    `mutation($d: ID!) { runInstanceBackup(destinationId: $d) { ${fields} } }`,
    { d: destinationId },
  );
  return runInstanceBackup;
}

export async function seenRun(client: Client, id: string, headers: Headers = {}): Promise<Run> {
  const { backupRun } = await client.must<{ backupRun: Run }>(
    `query($id: ID!) { backupRun(id: $id) { ${fields} } }`,
    { id },
    headers,
  );
  return backupRun;
}

/** For a run: that of an instance copies all of its files first. */
const endMs = 150_000;

/** The run once it has ended, however it ended. */
export async function endedRun(client: Client, id: string, headers: Headers = {}): Promise<Run> {
  await eventually(
    'the backup is over',
    async () => (await seenRun(client, id, headers)).finishedAt !== null,
    endMs,
  );
  return await seenRun(client, id, headers);
}

export interface Restore {
  id: string;
  status: string;
  log: string[];
  error: string | null;
  backupRunId: string | null;
}

const restoreFields = 'id status log error backupRunId';

export async function beginRestore(client: Client, runId: string): Promise<Restore> {
  const { restoreBackup } = await client.must<{ restoreBackup: Restore }>(
    `mutation($id: ID!) { restoreBackup(runId: $id) { ${restoreFields} } }`,
    { id: runId },
  );
  return restoreBackup;
}

export async function seenRestore(client: Client, id: string): Promise<Restore> {
  const query = `query($id: ID!) { restoreRun(id: $id) { ${restoreFields} } }`;
  return (await client.must<{ restoreRun: Restore }>(query, { id })).restoreRun;
}

/** The restore once it has ended, however it ended. */
export async function endedRestore(client: Client, id: string): Promise<Restore> {
  const isOver = async (): Promise<boolean> => (await seenRestore(client, id)).status !== 'running';
  await eventually('the restore is over', isOver, 90_000);
  return await seenRestore(client, id);
}
