import { spawnSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { besideRows } from '../backup/beside.ts';
import { type Corpus, corpusOf } from '../backup/corpus.ts';
import type { StageArgs, StageResult } from '../backup/stage.ts';
import type { Bench, Scenario } from '../harness.ts';
import { type Row, row } from '../model.ts';

interface Packed {
  MiBPerS: number;
  bytes: number;
}

interface Keys {
  recipient: string;
  recoveryKey: string;
}

const gzip = 'gzip -6';
const pigz = 'pigz -6';
const age = 'age';
/** What the process may grow by, whatever the size. */
const growthMiB = 96;

export const scenario: Scenario = {
  title:
    'backups: gzip in parallel against gzip and pigz, encryption against age, what others wait beside them',
  async run(bench) {
    const corpus = await corpusOf(bench, bench.pick(240, 8) * 2 ** 20);
    return [
      ...(await gzipRows(bench, corpus)),
      ...(await ageRows(bench, corpus)),
      ...(await besideRows(bench)),
    ];
  },
};

async function gzipRows(bench: Bench, corpus: Corpus): Promise<Row[]> {
  const others = [gzip, pigz].filter((name) => !bench.oursOnly && isInstalled(name));
  const found: Record<string, Packed[]> = { ours: [], [gzip]: [], [pigz]: [] };
  const grown: number[] = [];
  await bench.eachRound(3, async () => {
    const ours = await stage(bench, corpus, { stage: 'gzip', times: 1 });
    found['ours']?.push({ MiBPerS: mib(corpus.bytes) / ours.seconds, bytes: ours.bytes });
    grown.push(mib(ours.grownBytes));
    for (const name of others) found[name]?.push(await packedBy(bench, name, corpus));
  });
  const long = await stage(bench, corpus, { stage: 'gzip', times: bench.pick(5, 2) });
  const rounds = (key: keyof Packed) => ({
    ours: [],
    ...Object.fromEntries(
      Object.entries(found).map(([name, all]) => [name, all.map((one) => one[key])]),
    ),
  });
  const group = `gzip of ${mib(corpus.bytes)} MiB of dumps, code and random bytes`;
  const note = others.includes(pigz) || bench.oursOnly ? '' : 'pigz is not installed';
  return [
    row({
      group,
      what: 'read',
      unit: 'MiB/s',
      better: 'higher',
      rounds: rounds('MiBPerS'),
      goals: [
        { against: gzip, ratio: 1.7 },
        { against: pigz, ratio: 0.95 },
      ],
      note,
    }),
    row({
      group,
      what: 'size',
      unit: 'bytes',
      better: 'lower',
      rounds: rounds('bytes'),
      goals: [
        { against: gzip, ratio: 1 },
        { against: pigz, ratio: 1 },
      ],
      note,
    }),
    growthRow(group, grown),
    growthRow(`gzip of ${mib(corpus.bytes) * bench.pick(5, 2)} MiB`, [mib(long.grownBytes)]),
  ];
}

function growthRow(group: string, ours: number[]): Row {
  const goals = [{ value: growthMiB }];
  return row({
    group,
    what: 'RSS grows by',
    unit: 'MiB',
    better: 'lower',
    rounds: { ours },
    goals,
  });
}

async function ageRows(bench: Bench, corpus: Corpus): Promise<Row[]> {
  const { newKeyPair } = await bench.module<{ newKeyPair: () => Keys }>(
    'src/backups/streams/age/keys.ts',
  );
  const keys = newKeyPair();
  const dir = bench.tempDir();
  const keyFile = join(dir, 'key');
  writeFileSync(keyFile, keys.recoveryKey);
  const withAge = !bench.oursOnly && isInstalled(age);
  const sealed = { file: join(dir, 'sealed'), bytes: 0 };
  const encrypting = { ours: [] as number[], [age]: [] as number[] };
  const decrypting = { ours: [] as number[], [age]: [] as number[] };
  await bench.eachRound(3, async () => {
    const ours = await stage(bench, corpus, { stage: 'encrypt', times: 1, ...keys });
    encrypting.ours.push(mib(corpus.bytes) / ours.seconds);
    if (!withAge) return;
    const args = ['-r', keys.recipient, '-o', sealed.file, corpus.file];
    encrypting[age].push(mib(corpus.bytes) / (await secondsOf(bench, age, args)));
    sealed.bytes = statSync(sealed.file).size;
    const opened = await stage(bench, sealed, { stage: 'decrypt', times: 1, ...keys });
    if (opened.bytes !== corpus.bytes)
      throw new Error(`of ${corpus.bytes} bytes ${opened.bytes} came`);
    decrypting.ours.push(mib(corpus.bytes) / opened.seconds);
    const back = ['-d', '-i', keyFile, '-o', '/dev/null', sealed.file];
    decrypting[age].push(mib(corpus.bytes) / (await secondsOf(bench, age, back)));
  });
  const group = `age, ${mib(corpus.bytes)} MiB`;
  const common = { group, unit: 'MiB/s', better: 'higher' as const };
  const note = withAge || bench.oursOnly ? '' : 'age is not installed';
  const goals = [{ against: age, ratio: 0.9 }];
  const rows = [row({ ...common, what: 'encrypted', rounds: encrypting, goals, note })];
  if (withAge) rows.push(row({ ...common, what: 'decrypted', rounds: decrypting, goals }));
  return rows;
}

async function packedBy(bench: Bench, name: string, { file, bytes }: Corpus): Promise<Packed> {
  const packed = join(bench.tempDir(), 'packed');
  const seconds = await secondsOf(bench, 'sh', ['-c', `${name} -c "$0" > "$1"`, file, packed]);
  return { MiBPerS: mib(bytes) / seconds, bytes: statSync(packed).size };
}

async function secondsOf(bench: Bench, command: string, args: readonly string[]): Promise<number> {
  const startMs = performance.now();
  await bench.run(command, args);
  return (performance.now() - startMs) / 1000;
}

function stage(
  bench: Bench,
  { file }: Corpus,
  args: Omit<StageArgs, 'file'>,
): Promise<StageResult> {
  return bench.runOurs<StageResult>('bench/backup/stage.ts', { file, ...args });
}

function isInstalled(program: string): boolean {
  return spawnSync(program.split(' ')[0] ?? '', ['--version']).error === undefined;
}

function mib(bytes: number): number {
  return bytes / 2 ** 20;
}
