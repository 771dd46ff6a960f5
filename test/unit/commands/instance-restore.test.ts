import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { lstat, mkdir, readdir, readFile, readlink, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { encrypted } from '../../../src/backups/streams/age/encrypted.ts';
import { newKeyPair } from '../../../src/backups/streams/age/keys.ts';
import { tarEnd, type TarEntry, tarHeaders } from '../../../src/backups/tar/tar-header.ts';
import { restoreInstance } from '../../../src/commands/instance-restore.ts';
import { StoreRefusal } from '../../../src/store/refusal.ts';
import { tables } from '../../../src/store/records/tables.ts';
import { openSecretBox } from '../../../src/store/secrets.ts';
import { inPieces, joined } from '../../support/byte-streams.ts';
import {
  appUid,
  type InstanceWorld,
  instanceWorld,
  longName,
  tarOf,
} from '../../support/instance-world.ts';
import { needs } from '../../support/programs.ts';
import { openedStore, temporaryFolder } from '../../support/store-fixture.ts';

const isRoot = process.getuid?.() === 0;
const keys = newKeyPair();

async function artifactOf({ dir }: InstanceWorld): Promise<Buffer> {
  const packed = gzipSync(await tarOf(dir), { level: 1 });
  return joined(encrypted(inPieces(packed, 100_000), [keys.recipient]));
}

/** Puts both into files, and restores into a folder of its own. */
async function restoring(
  { folder }: Pick<InstanceWorld, 'folder'>,
  artifact: Uint8Array,
  identity: string | null = `# a comment\n\n${newKeyPair().recoveryKey}\n${keys.recoveryKey}\n`,
) {
  const [file, key] = [join(folder, 'artifact'), join(folder, 'identity')];
  await writeFile(file, artifact);
  if (identity !== null) await writeFile(key, identity);
  const config = { dataDir: join(folder, 'back'), instanceKey: null };
  const given = { config, artifact: file, identity: identity === null ? null : key };
  await restoreInstance(given);
  return config.dataDir;
}

async function refused(
  at: Pick<InstanceWorld, 'folder'>,
  artifact: Uint8Array,
  told: RegExp,
  key?: string,
) {
  await assert.rejects(restoring(at, artifact, key), (error: unknown) => {
    assert.ok(error instanceof StoreRefusal, String(error));
    assert.match(error.message, told);
    return true;
  });
  const names = await readdir(at.folder);
  assert.deepEqual(
    names.filter((name) => name.includes('back')),
    [],
    'nothing is left',
  );
}

type Written = Partial<Omit<TarEntry, 'name'>> & { name: Buffer | string; content?: string };

/** As somebody writes it who knows the recipient, and means harm. */
function tarWith(...entries: Written[]): Buffer {
  const told = { name: 'instance.json', content: '{"version":1}' };
  const blocks = [told, ...entries].flatMap(({ content = '', name, ...entry }) => {
    const bytes = Buffer.from(content);
    const whole = { type: 'file', mode: 0o644, mtimeMs: 0, target: Buffer.alloc(0) } as const;
    const size = bytes.length;
    const header = tarHeaders({ ...whole, size, ...entry, name: Buffer.from(name) });
    return [header, bytes, Buffer.alloc((512 - (size % 512)) % 512)];
  });
  return Buffer.concat([...blocks, tarEnd]);
}

describe('restoreInstance()', () => {
  it('brings all back that the instance had, as it was', async (t) => {
    const made = await instanceWorld(t);
    const back = await restoring(made, await artifactOf(made));
    assert.deepEqual((await readdir(back)).sort(), [
      ...['apps', 'instance.key', 'instance.key-check', 'store', 'uploads'],
    ]);
    assert.equal(openSecretBox({ dir: back }).open(made.sealed, 'a context'), 'hunter2');
    const store = await openedStore(t, { dir: back });
    assert.equal(store.get(tables.instance, 'instance')?.publicUrl, 'https://panel.example');
    const release = join(back, 'apps', 'app_1', 'releases', 'dpl_1');
    assert.equal(await readlink(join(release, '.venv', 'bin', 'python3')), '/usr/bin/python3');
    for (const [name, text] of [
      [longName, 'long'],
      ['a\\b\nc', 'odd'],
      ['start', '#!/bin/sh'],
    ] as const) {
      assert.equal(await readFile(join(release, name), 'utf8'), text);
    }
    const odd = Buffer.concat([Buffer.from(`${release}/`), Buffer.from([0x66, 0xff])]);
    assert.equal(await readFile(odd, 'utf8'), 'bytes');
    const hollow = await stat(join(release, 'hollow'));
    assert.ok(hollow.size === 3 * 2 ** 20 && hollow.blocks * 512 < 2 ** 20, 'holes stay holes');
    const start = await lstat(join(release, 'start'));
    assert.deepEqual([start.mode & 0o777, start.mtimeMs], [0o750, 1e12]);
    const above = await lstat(join(back, 'apps', 'app_1'));
    assert.equal(above.mode & 0o777, 0o710);
    if (!isRoot) return;
    assert.deepEqual([start.uid, start.gid, above.uid, above.gid], [appUid, appUid, 0, appUid]);
  });

  it('forgets what was under way, so that the artifact is not taken for its leftover', async (t) => {
    const made = await instanceWorld(t);
    const store = await openedStore(t, { dir: await restoring(made, await artifactOf(made)) });
    const run = store.get(tables.backupRuns, 'run_1');
    assert.deepEqual([run?.status, run?.artifact], ['failed', 'none']);
    assert.match(run?.error ?? '', /BACKUP_INTERRUPTED/);
    assert.equal(store.get(tables.backupRuns, 'run_2')?.artifact, 'leaving', 'that is to go');
  });

  it('takes gzip that somebody opened before, without an identity', async (t) => {
    const made = await instanceWorld(t);
    assert.ok((await readdir(await restoring(made, gzipSync(await tarOf(made.dir)), null))).length);
  });

  it('refuses any other key, and none', async (t) => {
    const made = await instanceWorld(t);
    const artifact = await artifactOf(made);
    await refused(
      made,
      artifact,
      /RECOVERY_KEY_WRONG.*Nothing was changed/,
      newKeyPair().recoveryKey,
    );
    await refused(made, artifact, /RECOVERY_KEY_WRONG/, '# nothing\n');
    await refused(made, artifact, /RECOVERY_KEY_WRONG/, 'no key at all');
    const none = restoring(made, artifact, null);
    await assert.rejects(none, /RECOVERY_KEY_REQUIRED/);
  });

  it('refuses what is cut off, changed, or followed by anything, wherever that is', async (t) => {
    const made = await instanceWorld(t);
    const artifact = await artifactOf(made);
    for (const share of [0.1, 0.5, 0.99]) {
      const at = Math.floor(artifact.length * share);
      await refused(made, artifact.subarray(0, at), /ARTIFACT_CORRUPT.*Nothing was changed/);
      const flipped = Buffer.from(artifact);
      flipped[at] = (flipped[at] ?? 0) ^ 1;
      await refused(made, flipped, /ARTIFACT_CORRUPT/);
    }
    await refused(made, Buffer.concat([artifact, Buffer.from('x')]), /ARTIFACT_CORRUPT/);
    const tar = await tarOf(made.dir);
    for (const cut of [tar.length - 512, tar.length - 1024, 512 * 20]) {
      await refused(made, gzipSync(tar.subarray(0, cut)), /cut off.*ARTIFACT_CORRUPT/);
    }
    const more = Buffer.concat([tar, Buffer.alloc(511), Buffer.from('x')]);
    await refused(made, gzipSync(more), /something follows/);
  });

  it('refuses backups of anything else', async (t) => {
    const at = { folder: await temporaryFolder(t) };
    const app = tarHeaders({
      ...{ name: Buffer.from('app.json'), type: 'file', size: 0, mode: 0o644, mtimeMs: 0 },
      target: Buffer.alloc(0),
    });
    const other = Buffer.concat([app, tarEnd]);
    await refused(at, gzipSync(other), /a backup of an app; this is an instance.*ARTIFACT_UNFIT/);
    await refused(at, gzipSync(Buffer.from('PGDMP and more')), /of a PostgreSQL database/);
    await refused(at, gzipSync(Buffer.alloc(10_240)), /no backup of an instance|ARTIFACT_UNFIT/);
    await refused(at, Buffer.from('-- some sql'), /neither an age file nor gzip/);
    await refused(at, gzipSync(tarWith()), /There is no store in the backup.*ARTIFACT_UNFIT/);
    const later = gzipSync(
      Buffer.from(tarWith().toString('latin1').replace(':1}', ':2}'), 'latin1'),
    );
    await refused(at, later, /a later version/);
  });

  it('writes nothing elsewhere, whatever the names and links in the tar', async (t) => {
    const at = { folder: await temporaryFolder(t) };
    const folder = (name: string): Written => ({ name, type: 'folder', mode: 0o755 });
    const link = (name: string, target: string): Written => ({
      ...{ name, type: 'link', target: Buffer.from(target) },
    });
    const apps = ['apps/', 'apps/app_1/', 'apps/app_1/releases/'].map(folder);
    const victim = join(at.folder, 'victim');
    for (const entries of [
      [{ name: '../victim', content: 'x' }],
      [folder('a/'), { name: 'a/../../victim', content: 'x' }],
      [{ name: victim, content: 'x' }],
      [{ name: './victim', content: 'x' }],
      [{ name: 'none/victim', content: 'x' }],
      [link('store', at.folder), { name: 'store/victim', content: 'x' }],
      [...apps, link('apps/app_1/data', '/etc')],
      [...apps, link('apps/app_2', '/etc')],
      [...apps, link('apps/app_1/releases/dpl_1', at.folder)],
      [folder('apps/'), folder('apps/programs/'), link('apps/programs/x', '../../../victim')],
      [
        ...apps,
        folder('apps/app_1/data/'),
        link('apps/app_1/data/in', at.folder),
        { name: 'apps/app_1/data/in/victim', content: 'x' },
      ],
      [
        ...apps,
        folder('apps/app_1/data/'),
        link('apps/app_1/data/in', victim),
        { name: 'apps/app_1/data/in', content: 'x' },
      ],
      [
        { name: 'twice', content: 'x' },
        { name: 'twice', content: 'y' },
      ],
      [folder('twice/'), folder('twice')],
    ]) {
      await refused(at, gzipSync(tarWith(...entries)), /ARCHIVE_UNSAFE_ENTRY|ARTIFACT_CORRUPT/);
      await assert.rejects(stat(victim), JSON.stringify(entries));
    }
  });

  it('gives an app nothing of ours, whatever owners and modes the tar names', async (t) => {
    const made = await instanceWorld(t);
    const tar = await tarOf(made.dir);
    // The owner and the mode of `apps/app_1`, with the checksum of the header.
    const header = tar.indexOf(Buffer.from('apps/app_1/\0'));
    const forged = tar.subarray(header, header + 512);
    forged.write('0606673\0', 108);
    forged.write('0007777\0', 100);
    forged.fill(0x20, 148, 156);
    const sum = forged.reduce((all, byte) => all + byte, 0);
    forged.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    const back = await restoring(made, gzipSync(tar), null);
    const { uid, mode } = await lstat(join(back, 'apps', 'app_1'));
    assert.deepEqual([uid, mode & 0o7777], [process.getuid?.(), 0o755]);
  });

  it('refuses a data directory with anything in it, and says when Gangway runs on it', async (t) => {
    const made = await instanceWorld(t);
    const artifact = join(made.folder, 'artifact');
    await writeFile(artifact, await artifactOf(made));
    const config = { dataDir: made.dir, instanceKey: null };
    const identity = join(made.folder, 'identity');
    await writeFile(identity, keys.recoveryKey);
    const restore = restoreInstance({ config, artifact, identity });
    await assert.rejects(restore, /is not empty, and in use by a Gangway that runs/);
    const full = join(made.folder, 'full');
    await mkdir(full);
    await writeFile(join(full, 'file'), '');
    const into = { config: { dataDir: full, instanceKey: null }, artifact, identity };
    await assert.rejects(restoreInstance(into), /is not empty\.$/);
    const none = { ...into, config: { ...config, dataDir: join(made.folder, 'new') } };
    await assert.rejects(restoreInstance({ ...none, artifact: join(full, 'none') }), StoreRefusal);
    await assert.rejects(restoreInstance({ ...none, identity: join(full, 'none') }), StoreRefusal);
    await assert.rejects(restoreInstance({ ...none, artifact: '-', identity: '-' }), StoreRefusal);
  });

  it('removes what a restore left that was killed', async (t) => {
    const made = await instanceWorld(t);
    const { pid } = process;
    for (const name of ['.back.partial-4194305', `.back.partial-${String(pid)}`]) {
      await mkdir(join(made.folder, name, 'store'), { recursive: true });
    }
    await restoring(made, await artifactOf(made));
    const names = await readdir(made.folder);
    assert.deepEqual(
      names.filter((name) => name.startsWith('.')),
      [],
    );
  });

  it('reads what tar can unpack alone', { skip: needs('tar') }, async (t) => {
    const made = await instanceWorld(t);
    const into = join(made.folder, 'unpacked');
    await mkdir(into);
    execFileSync('tar', ['x', '-C', into], { input: await tarOf(made.dir) });
    const names = [
      'apps',
      'instance.json',
      'instance.key',
      'instance.key-check',
      'store',
      'uploads',
    ];
    assert.deepEqual((await readdir(into)).sort(), names);
    const release = join(into, 'apps', 'app_1', 'releases', 'dpl_1');
    assert.equal(await readFile(join(release, longName), 'utf8'), 'long');
    assert.equal(await readlink(join(release, '.venv', 'bin', 'python3')), '/usr/bin/python3');
    if (isRoot) assert.equal((await lstat(join(release, 'start'))).uid, appUid);
  });
});
