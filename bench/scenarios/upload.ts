import { spawnSync } from 'node:child_process';
import { createReadStream, createWriteStream, statSync } from 'node:fs';
import { randomFillSync } from 'node:crypto';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createUploadApp } from '../deploy.ts';
import { compare, usageOf } from '../harness.ts';
import type { Bench, Gangway, Row, Scenario, Server } from '../harness.ts';

export const scenario: Scenario = {
  title: 'one upload, validated, against the slower of a bare sink to a file and one zlib thread',
  async run(bench) {
    const bytes = bench.pick(512, 16) * 2 ** 20;
    const ours = await bench.startGangway();
    const bare = await bench.startServer('bench/bare/sink.ts', [join(bench.tempDir(), 'sink')]);
    const appId = await createUploadApp(ours, 'upload');
    const rows: Row[] = [];
    for (const [content, make] of [
      ['source code', sourceCode],
      ['random bytes', randomBytes],
    ] as const) {
      rows.push(...(await rowsOf(bench, { ours, bare, appId }, content, await make(bench, bytes))));
    }
    return rows;
  },
};

async function rowsOf(
  bench: Bench,
  { ours, bare, appId }: { ours: Gangway; bare: Server; appId: string },
  content: string,
  file: string,
): Promise<Row[]> {
  const mib = statSync(file).size / 2 ** 20;
  const speeds: Record<'ours' | 'sink' | 'inflate' | 'slower', number[]> = {
    ours: [],
    sink: [],
    inflate: [],
    slower: [],
  };
  const before = usageOf(ours.pid).rssBytes;
  const upload = (): Promise<{ seconds: number }> =>
    bench.load('bench/load/upload.ts', {
      url: `${ours.url}/api/apps/${appId}/upload`,
      headers: { cookie: ours.cookie, 'x-upload-filename': 'bench.tar.gz' },
      file,
    });
  // The first one of a process starts the thread that the others find; its memory does count.
  if (bench.quick) await upload();
  let peak = before;
  for (let i = 0; i < bench.pick(3, 1); i++) {
    const watch = setInterval(() => (peak = Math.max(peak, usageOf(ours.pid).rssBytes)), 20);
    const mine = await upload();
    clearInterval(watch);
    const sink = await bench.load<{ seconds: number }>('bench/load/upload.ts', {
      url: `${bare.url}/`,
      headers: {},
      file,
    });
    const inflate = await bench.load<{ seconds: number }>('bench/load/inflate.ts', { file });
    speeds.ours.push(mib / mine.seconds);
    speeds.sink.push(mib / sink.seconds);
    speeds.inflate.push(mib / inflate.seconds);
    speeds.slower.push(mib / Math.max(sink.seconds, inflate.seconds));
  }
  const size = `${Math.round(mib)} MiB of ${content}`;
  const grown = (peak - before) / 2 ** 20;
  return [
    compare(
      `${size}, against the slower of the two`,
      'MiB/s',
      '>= 0.8',
      speeds.ours,
      speeds.slower,
    ),
    compare('  against the bare sink', 'MiB/s', '', speeds.ours, speeds.sink),
    compare('  against zlib', 'MiB/s', '', speeds.ours, speeds.inflate),
    { what: '  RSS grows by', ours: grown, against: null, unit: 'MiB', ratio: null, goal: '<= 64' },
  ];
}

/** A .tar.gz of about `bytes` that holds this project's dependencies, over and over. */
async function sourceCode(bench: Bench, bytes: number): Promise<string> {
  const dir = bench.tempDir();
  const once = join(dir, 'once.tar');
  const folders = ['typescript/lib', 'eslint/lib', 'zod', 'graphql', '@types/node'];
  spawnSync('tar', ['-b1', '-cf', once, '-C', 'node_modules', ...folders]);
  const file = join(dir, 'source.tar.gz');
  const gzip = spawnSync('sh', [
    '-c',
    'i=0; while [ $i -lt "$3" ]; do head -c -1024 "$1"; i=$((i+1)); done | cat - /dev/zero | head -c "$4" | gzip -6 > "$2"',
    'sh',
    once,
    file,
    String(repeats(once, bytes)),
    String(tarBytes(once, bytes)),
  ]);
  if (gzip.status !== 0) throw new Error(`cannot make the archive: ${String(gzip.stderr)}`);
  return file;
}

/** How often the tar goes into an archive that is gzipped to about a fifth. */
function repeats(once: string, bytes: number): number {
  return Math.max(1, Math.round((bytes * 5) / statSync(once).size));
}

function tarBytes(once: string, bytes: number): number {
  return repeats(once, bytes) * (statSync(once).size - 1024) + 1024;
}

/** A .tar.gz of `bytes` that no compression makes smaller. */
async function randomBytes(bench: Bench, bytes: number): Promise<string> {
  const dir = bench.tempDir();
  const raw = join(dir, 'random.bin');
  const block = Buffer.alloc(2 ** 20);
  const blocks = Array.from({ length: bytes / block.length - 1 }, (_, i) => i);
  await pipeline(
    Readable.from(blocks.map(() => 0)).map(() => Buffer.from(randomFillSync(block))),
    createWriteStream(raw),
  );
  const file = join(dir, 'random.tar.gz');
  if (spawnSync('tar', ['-czf', file, '-C', dir, 'random.bin']).status !== 0) {
    throw new Error('cannot make the archive');
  }
  // Read once, so that every round finds it in the page cache.
  await pipeline(createReadStream(file), createWriteStream('/dev/null'));
  return file;
}
