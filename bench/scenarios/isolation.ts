/**
 * What others wait while something heavy goes on: a health check and the lines of a log, while heavy
 * queries fill the pool and while an archive is received and checked, against when nothing is done.
 */
import { randomFillSync } from 'node:crypto';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createUploadApp } from '../deploy.ts';
import type { Bench, Gangway, Scenario } from '../harness.ts';
import { sendEach } from '../load/calls.ts';
import type { RequestParts } from '../load/requests.ts';
import type { Upload, UploadResult, Uploads } from '../load/upload.ts';
import {
  deployPrinter,
  noWaits,
  waitRows,
  waited,
  type Waits,
  waitSeconds,
} from '../load/waits.ts';
import { row } from '../model.ts';
import type { Row } from '../model.ts';
import { seed } from '../seed.ts';
import type { Seeded } from '../seed.ts';

const queriesAtOnce = 8;
/** More than the pool can answer. */
const queriesPerSecondMax = 4_000;

/** Nothing; heavy queries; an upload. */
type Load = 'idle' | 'queries' | 'upload';

interface Place {
  ours: Gangway;
  logAppId: string;
  uploadAppId: string;
  archive: string;
  seeded: Seeded;
}

export const scenario: Scenario = {
  title:
    'what a health check and lines of a log wait while heavy work goes on, against when none does',
  async run(bench) {
    const place = await prepare(bench);
    const waits: Record<Load, Waits> = {
      idle: noWaits(),
      queries: noWaits(),
      upload: noWaits(),
    };
    const heavy: Record<Exclude<Load, 'idle'>, number[]> = { queries: [], upload: [] };
    await bench.eachRound(3, async () => {
      await waited(bench, place, waits.idle);
      heavy.queries.push(await beside(bench, place, waits.queries, queries));
      heavy.upload.push(await beside(bench, place, waits.upload, upload));
    });
    return [
      ...waitRows('while heavy queries fill the pool', waits.queries, waits.idle),
      amount('while heavy queries fill the pool', 'heavy queries answered', 'req/s', heavy.queries),
      ...waitRows('while an archive is received and checked', waits.upload, waits.idle),
      amount('while an archive is received and checked', 'received', 'MiB/s', heavy.upload),
    ];
  },
};

async function prepare(bench: Bench): Promise<Place> {
  const seeded = await seed(bench, { apps: bench.pick(2_000, 500) });
  const ours = await bench.startGangway({
    GANGWAY_DATA_DIR: seeded.dataDir,
    GANGWAY_LOG_LEVEL: 'warn',
  });
  const logAppId = await deployPrinter(bench, ours);
  const uploadAppId = await createUploadApp(ours, 'upload');
  const archive = await archiveOf(bench, bench.pick(64, 8));
  return { ours, seeded, logAppId, uploadAppId, archive };
}

/** A .tar.gz of half text, half random bytes: there is something to inflate, and something to write. */
async function archiveOf(bench: Bench, mib: number): Promise<string> {
  const dir = bench.tempDir();
  const text = Buffer.from('What is said again and again is soon said in short.\n'.repeat(20_000));
  for (let i = 0; i < mib; i++) {
    writeFileSync(join(dir, `${i}.bin`), randomFillSync(Buffer.alloc(2 ** 20)));
    writeFileSync(join(dir, `${i}.txt`), text);
  }
  const archive = join(bench.tempDir(), 'app.tar.gz');
  await bench.run('tar', ['-czf', archive, '-C', dir, '.']);
  return archive;
}

/** What is waited while heavy work goes on, and how much of it is done in a second. */
async function beside(
  bench: Bench,
  place: Place,
  waits: Waits,
  work: (bench: Bench, place: Place, seconds: number) => Promise<number>,
): Promise<number> {
  const beforeMs = performance.now();
  // It begins before, and ends behind, what is measured.
  const [done] = await Promise.all([
    work(bench, place, waitSeconds(bench) + 2),
    sleep(700).then(() => waited(bench, place, waits)),
  ]);
  const seconds = (performance.now() - beforeMs) / 1000;
  if (done === 0) throw new Error('no heavy work was done, so that nothing was beside it');
  return done / seconds;
}

async function sleep(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

const heavyQuery = `query Heavy($search: String!) {
  apps(first: 200, search: $search) {
    nodes {
      id slug name status url createdAt team { id name }
      latestDeployment { id status error }
      deployments(first: 5) { nodes { id status trigger createdAt } }
    }
  }
}`;

/** Heavy queries without a pause, none of which was asked before; how many were answered. */
async function queries(bench: Bench, { ours, seeded }: Place, seconds: number): Promise<number> {
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${seeded.tokens[0] ?? ''}`,
  };
  const most = Math.ceil(seconds * queriesPerSecondMax);
  const requests = Array.from({ length: most }, (_, i): RequestParts => {
    const variables = { search: 'bench app' };
    const body = JSON.stringify({ query: heavyQuery, variables, extensions: { request: i } });
    return { path: '/api/graphql', method: 'POST', headers, body };
  });
  const { calls, answers } = await sendEach(bench, ours, requests, queriesAtOnce, {
    seconds,
    alike: true,
    // In a smoke others leave nothing for long.
    beside: !bench.quick,
  });
  if (calls === most) throw new Error('there were not enough heavy queries to fill the pool');
  for (const answer of answers) {
    const { data } = JSON.parse(answer) as { data?: { apps?: { nodes: object[] } } };
    if (data?.apps?.nodes.length === 200) continue;
    throw new Error(`a heavy query was answered ${answer.slice(0, 300)}`);
  }
  return calls;
}

/** Uploads without a pause; how many MiB. */
async function upload(bench: Bench, place: Place, seconds: number): Promise<number> {
  const { ours, uploadAppId, archive } = place;
  const one: Upload = {
    url: `${ours.url}/api/apps/${uploadAppId}/upload`,
    method: 'POST',
    headers: { cookie: ours.cookie, 'x-upload-filename': 'app.tar.gz' },
    file: archive,
  };
  const load: Uploads = { uploads: [one], beside: !bench.quick, forSeconds: seconds };
  const { answers } = await bench.load<UploadResult>('bench/load/upload.ts', load);
  for (const { status, body } of answers) {
    if (status !== 200) throw new Error(`an upload was answered ${status} ${body}`);
  }
  return (answers.length * statSync(archive).size) / 2 ** 20;
}

/** So that nobody takes a pool that does nothing for a quiet one. */
function amount(group: string, what: string, unit: string, rounds: readonly number[]): Row {
  return row({ group, what, unit, better: 'higher', rounds: { ours: rounds } });
}
