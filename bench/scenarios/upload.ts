import { availableParallelism } from 'node:os';
import type { Gangway } from '../gangway.ts';
import type { Bench, Scenario } from '../harness.ts';
import type { UploadResult } from '../load/upload.ts';
import { type Goal, type Row, row } from '../model.ts';
import { usageOf } from '../processes.ts';
import type { Archive } from '../upload/archives.ts';
import { randomTar, sourceTars, sourceZip, truncated } from '../upload/archives.ts';
import { gangwayTarget, nginxTarget, sinkTarget, speed, type Target } from '../upload/targets.ts';

interface Targets {
  gangway: Gangway;
  /** Of Gangway before the first upload, once the apps are there. */
  idleBytes: number;
  ours: Target;
  sink: Target | null;
  nginx: Target | null;
}

type Speeds = Record<'ours' | typeof sink | typeof zlib | typeof slower | typeof nginx, number[]>;

const sink = 'bare sink to a file';
const zlib = 'one zlib thread';
const slower = 'the slower of the two';
const nginx = 'nginx';
const atOnceMax = 16;

export const scenario: Scenario = {
  title: 'uploads, validated and synced, against a sink to a file, nginx, and one zlib thread',
  async run(bench) {
    const bytes = bench.pick(512, 16) * 2 ** 20;
    const sourceTar = await sourceTars(bench);
    const gangway = await bench.startGangway();
    const ours = await gangwayTarget(gangway, atOnceMax);
    const idleBytes = usageOf(gangway.pid).rssBytes;
    // These are also the first of the process, which start the thread that the others find.
    await requireRefusal(bench, ours, sourceTar(2 ** 20));
    await requireRefusal(bench, ours, await sourceZip(bench, 2 ** 20));
    const targets: Targets = {
      gangway,
      idleBytes,
      ours,
      // Held against itself, nobody else takes part.
      sink: bench.oursOnly ? null : await sinkTarget(bench),
      nginx: bench.oursOnly ? null : await nginxTarget(bench),
    };
    // And this one finds code that is not compiled yet, in place of the first that is measured.
    await speed(bench, ours, sourceTar(bytes / 8));
    return [
      ...(await one(bench, targets, 'source code, tar.gz', sourceTar(bytes))),
      ...(await one(bench, targets, 'source code, zip', await sourceZip(bench, bytes))),
      ...(await one(bench, targets, 'random bytes, tar.gz', await randomTar(bench, bytes))),
      await atOnce(bench, targets, sourceTar(bytes / 4), 2),
      await atOnce(bench, targets, sourceTar(bytes / atOnceMax), atOnceMax),
    ];
  },
};

async function one(
  bench: Bench,
  targets: Targets,
  content: string,
  archive: Archive,
): Promise<Row[]> {
  const { gangway, ours, idleBytes } = targets;
  const speeds: Speeds = { ours: [], [sink]: [], [zlib]: [], [slower]: [], [nginx]: [] };
  let peak = 0;
  await bench.eachRound(2, async () => {
    const watch = setInterval(() => {
      peak = Math.max(peak, usageOf(gangway.pid).rssBytes);
    }, 20);
    try {
      speeds.ours.push(await speed(bench, ours, archive));
    } finally {
      clearInterval(watch);
    }
    if (targets.sink === null) return;
    const sunk = await speed(bench, targets.sink, archive);
    const inflated = await inflateSpeed(bench, archive);
    speeds[sink].push(sunk);
    speeds[zlib].push(inflated);
    speeds[slower].push(Math.min(sunk, inflated));
    if (targets.nginx !== null) speeds[nginx].push(await speed(bench, targets.nginx, archive));
  });
  const group = `${Math.round(archive.bytes / 2 ** 20)} MiB of ${content}`;
  return [
    row({
      group,
      what: 'one upload',
      unit: 'MiB/s',
      better: 'higher',
      rounds: speeds,
      goals: [{ against: slower, ratio: 0.8 }],
      note: noteOf(targets),
    }),
    row({
      group,
      what: 'RSS grows by',
      unit: 'MiB',
      better: 'lower',
      rounds: { ours: [(peak - idleBytes) / 2 ** 20] },
      goals: [{ value: 64 }],
    }),
  ];
}

/** The others keep whatever comes; where `nginx` is missing, its place in the row stays empty. */
function noteOf({ nginx: installed, sink: others }: Targets): string {
  const missing = installed === null && others !== null ? '; nginx is not installed' : '';
  return `the others check nothing${missing}`;
}

/** An archive that ends too soon is no upload, however fast it was taken. */
async function requireRefusal(bench: Bench, ours: Target, whole: Archive): Promise<void> {
  const uploads = [ours.upload(truncated(bench, whole), 0)];
  const { answers } = await bench.load<UploadResult>('bench/load/upload.ts', { uploads });
  for (const { status, body } of answers) {
    if (status === 422 && body.includes('"ARCHIVE_CORRUPT"')) continue;
    throw new Error(`half an archive was answered with ${status}: ${body}`);
  }
}

async function inflateSpeed(bench: Bench, { file, bytes }: Archive): Promise<number> {
  const { seconds } = await bench.load<{ seconds: number }>('bench/load/inflate.ts', { file });
  return bytes / 2 ** 20 / seconds;
}

async function atOnce(
  bench: Bench,
  targets: Targets,
  archive: Archive,
  count: number,
): Promise<Row> {
  const alone = 'one alone';
  const speeds = { ours: [] as number[], [alone]: [] as number[], [sink]: [] as number[] };
  const others = { [nginx]: [] as number[] };
  await bench.eachRound(2, async () => {
    speeds[alone].push(await speed(bench, targets.ours, archive));
    speeds.ours.push(await speed(bench, targets.ours, archive, count));
    if (targets.sink !== null) speeds[sink].push(await speed(bench, targets.sink, archive, count));
    if (targets.nginx !== null) {
      others[nginx].push(await speed(bench, targets.nginx, archive, count));
    }
  });
  // Two that are to be as fast as two alone need a core each, and who sends them needs some as well.
  const goals: Goal[] = availableParallelism() >= 4 ? [{ against: alone, ratio: 1.6 }] : [];
  return row({
    group: `${Math.round(archive.bytes / 2 ** 20)} MiB of source code, tar.gz`,
    what: `${count} uploads at once, all together`,
    unit: 'MiB/s',
    better: 'higher',
    rounds: { ...speeds, ...others },
    goals,
    note: noteOf(targets),
  });
}
