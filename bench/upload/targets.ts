/**
 * Owns whom archives are uploaded to: Gangway, which validates, hashes and syncs them, and what only
 * writes bodies to files. Each tells whether all of what was sent has arrived.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createUploadApp } from '../deploy.ts';
import type { Gangway } from '../gangway.ts';
import type { Bench } from '../harness.ts';
import type { Upload, UploadResult } from '../load/upload.ts';
import { startPeer } from '../peers.ts';
import type { Archive } from './archives.ts';

export interface Target {
  /** The archive as the n-th of those that are uploaded at once. */
  upload(archive: Archive, n: number): Upload;
  /** Throws where the answer, or what was kept, is not what it must be. */
  check(answer: UploadResult['answers'][0], archive: Archive, n: number): void;
}

/** MiB a second of `count` uploads of the archive at once. */
export async function speed(
  bench: Bench,
  target: Target,
  archive: Archive,
  count = 1,
): Promise<number> {
  const uploads = Array.from({ length: count }, (_, n) => target.upload(archive, n));
  const { seconds, answers } = await bench.load<UploadResult>('bench/load/upload.ts', { uploads });
  for (const [n, answer] of answers.entries()) target.check(answer, archive, n);
  return (count * archive.bytes) / 2 ** 20 / seconds;
}

/** Gangway with as many apps as are uploaded to at once. */
export async function gangwayTarget(gangway: Gangway, apps: number): Promise<Target> {
  const appIds: string[] = [];
  for (let i = 0; i < apps; i++) appIds.push(await createUploadApp(gangway, `Upload ${i}`));
  return {
    upload: ({ file, format }, n) => ({
      url: `${gangway.url}/api/apps/${appIds[n] ?? ''}/upload`,
      method: 'POST',
      headers: { cookie: gangway.cookie, 'x-upload-filename': `bench.${format}` },
      file,
    }),
    check: ({ status, body }, { bytes }) => {
      const kept = status === 200 ? sizeIn(body) : Number.NaN;
      if (kept !== bytes) throw new Error(`the upload answered ${status}: ${body}, not ${bytes}`);
    },
  };
}

function sizeIn(body: string): number {
  const { ok, upload } = JSON.parse(body) as { ok: boolean; upload: { size: number } };
  return ok ? upload.size : Number.NaN;
}

/** Bare uWebSockets.js that writes bodies to files. */
export async function sinkTarget(bench: Bench): Promise<Target> {
  const folder = bench.tempDir();
  const { url } = await bench.startServer('bench/bare/sink.ts', [folder]);
  return fileTarget('POST', url, folder, [200]);
}

/** nginx that takes PUTs into files; null where Debian's package is not installed. */
export async function nginxTarget(bench: Bench): Promise<Target | null> {
  if (spawnSync('nginx', ['-v']).error !== undefined) return null;
  const dir = bench.tempDir();
  const folder = join(dir, 'files');
  mkdirSync(folder);
  const { url } = await startPeer(bench, 'nginx.ts', [dir]);
  return fileTarget('PUT', url, folder, [201, 204]);
}

function fileTarget(
  method: Upload['method'],
  url: string,
  folder: string,
  statuses: readonly number[],
): Target {
  const name = (n: number): string => `archive-${n}`;
  return {
    upload: ({ file }, n) => ({ url: `${url}/${name(n)}`, method, headers: {}, file }),
    check: ({ status, body }, { bytes }, n) => {
      if (!statuses.includes(status)) throw new Error(`${url} answered ${status}: ${body}`);
      const kept = statSync(join(folder, name(n))).size;
      if (kept !== bytes) throw new Error(`${url} kept ${kept} bytes of ${bytes}`);
    },
  };
}
