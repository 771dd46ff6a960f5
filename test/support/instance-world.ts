/** A data directory as one looks that is in use, and the tar that is made of it. */
import assert from 'node:assert/strict';
import { chmod, lchown, mkdir, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { databaseFiles } from '../../src/places/database-folders.ts';
import { instanceSource } from '../../src/backups/sources/instance-source.ts';
import { put } from '../../src/store/records/table.ts';
import { tables } from '../../src/store/records/tables.ts';
import { openSecretBox } from '../../src/store/secrets.ts';
import { joined } from './byte-streams.ts';
import { openedStore, temporaryFolder } from './store-fixture.ts';

const isRoot = process.getuid?.() === 0;
export const appUid = 200_123;
export const longName = `${'long-'.repeat(40)}name`;

export interface InstanceWorld {
  folder: string;
  dir: string;
  sealed: Uint8Array;
}

/** A data directory as one looks that is in use. */
export async function instanceWorld(t: TestContext): Promise<InstanceWorld> {
  const folder = await temporaryFolder(t);
  const dir = join(folder, 'data');
  const store = await openedStore(t, { dir });
  const record = { id: 'instance', publicUrl: 'https://panel.example', logMaxDays: 3 };
  const run = { id: 'run_1', targetId: 'instance', teamId: 'team', status: 'running' };
  const left = { id: 'run_2', targetId: 'app', teamId: 'team', status: 'failed' };
  const changes = [
    put(tables.instance, record as never),
    put(tables.backupRuns, { ...run, artifact: 'writing', key: 'k', destinationId: 'd' } as never),
    put(tables.backupRuns, { ...left, artifact: 'leaving', key: 'l', destinationId: 'd' } as never),
  ];
  await store.commit({ actor: 'test', epoch: store.nextEpoch('test'), changes });
  const sealed = openSecretBox({ dir }).seal('hunter2', 'a context');
  const release = join(dir, 'apps', 'app_1', 'releases', 'dpl_1');
  await mkdir(join(release, '.venv', 'bin'), { recursive: true });
  await mkdir(join(dir, 'apps', 'app_1', 'data'));
  await mkdir(join(dir, 'uploads', 'app_1'), { recursive: true });
  await mkdir(join(dir, 'backups', 'dst_1'), { recursive: true });
  await writeFile(join(dir, 'uploads', 'app_1', 'blob'), 'zip');
  await writeFile(join(release, 'start'), '#!/bin/sh', { mode: 0o750 });
  await writeFile(join(release, longName), 'long');
  await writeFile(Buffer.concat([Buffer.from(`${release}/`), Buffer.from([0x66, 0xff])]), 'bytes');
  await writeFile(join(release, 'a\\b\nc'), 'odd');
  await writeFile(join(release, 'hollow'), 'x');
  await truncate(join(release, 'hollow'), 3 * 2 ** 20);
  await symlink('/usr/bin/python3', join(release, '.venv', 'bin', 'python3'));
  await utimes(join(release, 'start'), 1e9, 1e9);
  if (isRoot) {
    for (const name of ['', '.venv', 'start']) await lchown(join(release, name), appUid, appUid);
    await lchown(join(dir, 'apps', 'app_1'), 0, appUid);
  }
  await chmod(join(dir, 'apps', 'app_1'), 0o710);
  return { folder, dir, sealed };
}

export function sourceOfInstance(dir: string) {
  const snapshots = join(dir, 'snapshots');
  const missed = (left: unknown): void => assert.fail(JSON.stringify(left));
  return instanceSource({ dataDir: dir, snapshots, databases: databaseFiles, missed });
}

export const tarOf = (dir: string): Promise<Buffer> =>
  joined(sourceOfInstance(dir).read(new AbortController().signal));
