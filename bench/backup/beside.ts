/** Owns what a health check and lines of a log wait while four backups run, compressed and encrypted. */
import { createUploadApp, deployFiles } from '../deploy.ts';
import type { Bench, Gangway } from '../harness.ts';
import { deployPrinter, noWaits, waitRows, waited } from '../load/waits.ts';
import type { Row } from '../model.ts';

const backups = 4;

export async function besideRows(bench: Bench): Promise<Row[]> {
  const ours = await bench.startGangway({
    GANGWAY_BACKUP_CONCURRENCY: String(backups),
    GANGWAY_LOG_LEVEL: 'warn',
  });
  const logAppId = await deployPrinter(bench, ours);
  const appIds: string[] = [];
  for (let i = 0; i < backups; i++) appIds.push(await deployKeeper(bench, ours, i));
  const { createDestination } = await ours.graphql<{ createDestination: { id: string } }>(
    'mutation { createDestination(input: {name: "bench", kind: server, encrypt: true}) { id } }',
  );
  const [idle, beside] = [noWaits(), noWaits()];
  await bench.eachRound(3, async () => {
    await waited(bench, { ours, logAppId }, idle);
    const runs = await begin(ours, appIds, createDestination.id);
    await waited(bench, { ours, logAppId }, beside);
    await end(ours, runs);
  });
  return waitRows(`while ${backups} backups run`, beside, idle);
}

/** An app that is live when it has written as much as four backups don't read within a round. */
async function deployKeeper(bench: Bench, ours: Gangway, i: number): Promise<string> {
  const appId = await createUploadApp(ours, `keeper ${i}`);
  const source = `
const { randomFillSync } = require('node:crypto');
const { appendFileSync } = require('node:fs');
const text = Array.from({ length: 60_000 }, (_, i) => 'order ' + i + ' shipped at ' + i * 7919 % 86400).join('\\n');
for (let i = 0; i < ${bench.pick(128, 32)}; i++) {
  appendFileSync(process.env.APP_DATA_DIR + '/rows', i % 3 === 0 ? randomFillSync(Buffer.alloc(2 ** 20)) : i + text);
}
require('node:http').createServer((_, res) => res.end()).listen(process.env.PORT);
`;
  await deployFiles(bench, ours, appId, { Procfile: 'web: node app.js\n', 'app.js': source });
  return appId;
}

async function begin(ours: Gangway, appIds: string[], destinationId: string): Promise<string[]> {
  const ids = appIds.map(async (appId) => {
    const { runBackup } = await ours.graphql<{ runBackup: { id: string } }>(
      'mutation ($a: ID!, $d: ID!) { runBackup(appId: $a, destinationId: $d) { id } }',
      { a: appId, d: destinationId },
    );
    return runBackup.id;
  });
  return Promise.all(ids);
}

/** Throws when one of them was over already: then nothing was measured beside it. */
async function end(ours: Gangway, runs: readonly string[]): Promise<void> {
  for (const id of runs) {
    const { status, error } = await seen(ours, id);
    if (status !== 'running') throw new Error(`a backup was ${status} too early: ${error ?? ''}`);
  }
  for (const id of runs) {
    await ours.graphql('mutation ($id: ID!) { cancelBackupRun(id: $id) }', { id });
  }
  for (const id of runs) {
    while (['running', 'verifying'].includes((await seen(ours, id)).status)) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

async function seen(ours: Gangway, id: string): Promise<{ status: string; error: string | null }> {
  const { backupRun } = await ours.graphql<{
    backupRun: { status: string; error: string | null };
  }>('query ($id: ID!) { backupRun(id: $id) { status error } }', { id });
  return backupRun;
}
