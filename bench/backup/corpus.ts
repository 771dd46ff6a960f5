/** Owns what is backed up in a bench: dumps of databases, source code, and what is compressed already. */
import { randomFillSync } from 'node:crypto';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type Bench, home } from '../harness.ts';

export interface Corpus {
  file: string;
  bytes: number;
}

/** Far more than what gzip looks back to, 32 KiB: what comes again is compressed as if it were new. */
const pieceBytes = 4 * 2 ** 20;
/** What everybody has that runs this bench: the project's own dependencies. */
const folders = ['typescript/lib', 'eslint/lib', 'graphql'];
const words = 'order invoice shipped pending street avenue london paris note left door bell'.split(
  ' ',
);

/** Two parts of rows, two of code and one of random bytes, in turn. */
export async function corpusOf(bench: Bench, bytes: number): Promise<Corpus> {
  const file = join(bench.tempDir(), 'corpus');
  const code = await tarOfCode(bench);
  const random = randomFillSync(Buffer.alloc(pieceBytes));
  const descriptor = openSync(file, 'w');
  let written = 0;
  try {
    for (let i = 0; written < bytes; i++) {
      const kind = i % 5;
      const piece = kind === 4 ? random : kind % 2 === 0 ? rows(i) : codePiece(code, i);
      written += writeSync(descriptor, piece, 0, Math.min(pieceBytes, bytes - written));
    }
  } finally {
    closeSync(descriptor);
  }
  return { file, bytes };
}

function codePiece(code: Buffer, i: number): Buffer {
  const at = (i * pieceBytes) % (code.length - pieceBytes);
  return code.subarray(at, at + pieceBytes);
}

/** As `COPY` dumps a table. */
function rows(seed: number): Buffer {
  let state = seed + 1;
  const next = (below: number): number => (state = (state * 48_271) % 2_147_483_647) % below;
  const lines: string[] = [];
  for (let bytes = 0; bytes < pieceBytes; bytes += lines.at(-1)?.length ?? 1) {
    const note = Array.from({ length: 6 }, () => words[next(words.length)]).join(' ');
    const day = `2026-0${1 + next(9)}-${10 + next(18)} ${10 + next(13)}:${10 + next(49)}`;
    lines.push(
      `${next(1e6)}\t${next(1e5) / 100}\t${day}\t${note}\t${next(2 ** 31).toString(16)}\n`,
    );
  }
  return Buffer.from(lines.join(''));
}

async function tarOfCode(bench: Bench): Promise<Buffer> {
  const tar = join(bench.tempDir(), 'code.tar');
  await bench.run('tar', ['-cf', tar, '-C', join(home, 'node_modules'), ...folders]);
  return readFileSync(tar);
}
