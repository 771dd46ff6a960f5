/**
 * Owns a base backup of PostgreSQL as what a fresh volume, or another server, is to hold: the files belong to whom the live
 * ones do, and the settings are those of the live server.
 */
import { normalName } from '../../archives/formats/names.ts';
import { feed } from '../client-program.ts';
import { paddingOf, tarEnd, tarHeaders } from '../tar/tar-header.ts';
import { TarReader } from '../tar/tar-reader.ts';
import { zeros } from '../tar/tar-tree.ts';
import type { DatabaseTarget } from '../targets.ts';
import { unfit } from './failures.ts';

/** The data of the server in its container, and where a tar has it: in its volume, or on another server. */
const imageFolder = '/data/pgdata';
const [inVolume, elsewhere] = ['data/pgdata', 'data'];
const versionName = 'PG_VERSION';
const settingMaxBytes = 4 * 1024 * 1024;
const kinds = { '0': 'file', '5': 'folder' } as const;

export interface BaseBackup {
  bytes: AsyncIterable<Uint8Array>;
  /** Names of files that are those of the live server. */
  settings: readonly string[];
  /** Names without which it is none. */
  needed: readonly string[];
  signal: AbortSignal;
}

/** Names begin with that of the volume. Throws ARTIFACT_UNFIT for what is no backup of this version. */
export async function* baseBackupTar(
  target: DatabaseTarget,
  { bytes, settings, needed, signal }: BaseBackup,
): AsyncGenerator<Uint8Array> {
  const liveFolder = target.folder ?? imageFolder;
  const folder = target.folder === null ? inVolume : elsewhere;
  const ask = (command: string[], maxBytes?: number): Promise<Buffer> =>
    feed(target, { command, env: {} }, null, signal, maxBytes);
  const owners = (await ask(['stat', '-c', '%u %g', liveFolder])).toString().split(' ').map(Number);
  const [uid = 0, gid = 0] = owners;
  const own = { owner: { uid, gid }, mtimeMs: Date.now(), target: Buffer.alloc(0) };
  yield tarHeaders({
    ...own,
    name: Buffer.from(`${folder}/`),
    type: 'folder',
    size: 0,
    mode: 0o700,
  });
  const missing = new Set(needed);
  const tar = new TarReader(bytes);
  try {
    for (let item = await tar.next(); item !== null; item = await tar.next()) {
      const path = normalName(item.name.toString());
      const type = (kinds as Partial<Record<string, 'file' | 'folder'>>)[item.flag];
      if (type === undefined) throw unfit('A base backup has no links.');
      missing.delete(path);
      if (path === '' || settings.includes(path)) continue;
      const name = Buffer.from(`${folder}/${path}${type === 'folder' ? '/' : ''}`);
      yield tarHeaders({ ...own, name, type, size: item.size, mode: item.mode });
      yield* path === versionName ? checked(tar.content(), target) : tar.content();
      yield* zeros(paddingOf(item.size));
    }
  } finally {
    await tar.close();
  }
  if (missing.size > 0) throw unfit('This is no base backup of PostgreSQL.');
  for (const name of settings) {
    const text = await ask(['cat', `${liveFolder}/${name}`], settingMaxBytes);
    const path = Buffer.from(`${folder}/${name}`);
    yield tarHeaders({ ...own, name: path, type: 'file', size: text.length, mode: 0o600 });
    yield text;
    yield* zeros(paddingOf(text.length));
  }
  yield tarEnd;
}

async function* checked(
  content: AsyncIterable<Uint8Array>,
  { version }: DatabaseTarget,
): AsyncGenerator<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(Uint8Array.from(chunk));
  const text = Buffer.concat(chunks);
  checkMajor(text.toString(), version);
  yield text;
}

/** Throws ARTIFACT_UNFIT when the files are of another major version. */
export function checkMajor(text: string, version: string): void {
  const major = text.trim();
  if (major === version.split('.')[0]) return;
  throw unfit(`It is of PostgreSQL ${major}, and this server is ${version}.`);
}
