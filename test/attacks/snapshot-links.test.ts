/** An app that swaps its files for links and pipes while the data directory is copied (by root). */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { databaseFiles } from '../../src/places/database-folders.ts';
import { handOverTree } from '../../src/lib/untrusted-files/remove.ts';
import { copyDataDirectory, restoreDataDirectory } from '../../src/store/files/snapshot.ts';
import { instanceKeyFile, openSecretBox } from '../../src/store/secrets.ts';
import { Gangway } from '../support/gangway.ts';
import { modelTables } from '../support/model-store.ts';
import { needs } from '../support/programs.ts';
import { openedStore, temporaryFolder } from '../support/store-fixture.ts';
import { fillHostile, hostileText, startSwapping } from '../support/swapping.ts';

const uid = 345_678;
const secret = 'nobody else may read this';

describe('an app that swaps its files for links', { skip: needs('root') }, () => {
  it('gets nothing read, written or given to it by a snapshot, and fails none', async (t) => {
    const folder = await temporaryFolder(t);
    chmodSync(folder, 0o711);
    const dir = join(folder, 'data');
    const store = await openedStore(t, { dir, tables: modelTables });
    await store.close();
    openSecretBox({ dir }).seal('x', 'y');
    const keyFile = join(dir, instanceKeyFile);
    const key = readFileSync(keyFile, 'utf8').trim();

    const outside = join(folder, 'outside');
    mkdirSync(outside, { mode: 0o700 });
    const names = Array.from({ length: 3 }, (_, n) => `victim${String(n)}`);
    for (const name of names) writeFileSync(join(outside, name), secret, { mode: 0o600 });

    const stops: (() => Promise<void>)[] = [];
    for (const [owner, outsideFile] of Object.entries({
      app_1: keyFile,
      db_1: join(outside, 'victim1'),
    })) {
      const data = join(dir, 'apps', owner, 'data');
      mkdirSync(data, { recursive: true, mode: 0o711 });
      fillHostile({ folder: data, outsideFolder: outside, outsideFile, count: 4 });
      // One that is there whenever somebody looks.
      execFileSync('mkfifo', [join(data, 'resting')]);
      await handOverTree(data, uid);
      stops.push(await startSwapping(t, data, uid));
    }
    const isUntouched = (): void => {
      assert.deepEqual(readdirSync(outside).sort(), names);
      for (const name of names) {
        const found = lstatSync(join(outside, name));
        assert.deepEqual([found.uid, found.mode & 0o7777], [0, 0o600]);
        assert.equal(readFileSync(join(outside, name), 'utf8'), secret);
      }
      assert.equal(readFileSync(keyFile, 'utf8').trim(), key);
      assert.equal(lstatSync(keyFile).uid, 0);
    };
    const holdsOwnFilesAlone = (copy: string): void => {
      const holding = (text: string): string[] => ['-rlD', 'skip', '-e', text, copy];
      assert.notEqual(execFileSync('grep', holding(hostileText), { encoding: 'utf8' }), '');
      for (const text of [secret, key]) {
        assert.throws(() => execFileSync('grep', holding(text)), { status: 1 });
      }
    };

    for (const name of ['one', 'two']) {
      const copy = join(folder, name);
      const { missed } = await copyDataDirectory(dir, copy, {
        withKey: false,
        databases: databaseFiles,
      });
      assert.ok((missed.get('special')?.count ?? 0) > 0, 'pipes are told');
      isUntouched();
      holdsOwnFilesAlone(copy);
    }
    const gangway = await Gangway.create({ dataDir: dir });
    t.after(() => gangway.end());
    const { code, text } = await gangway.run(['snapshot', join(folder, 'three')]);
    assert.equal(code, 0, text);
    assert.match(
      text,
      /^gangway: Not copied, being no files: \d+ pipes, sockets and devices, such as "apps\/app_/m,
    );
    assert.match(text, /^Copied to /m);
    isUntouched();
    holdsOwnFilesAlone(join(folder, 'three'));

    for (const stop of stops) await stop();
    await restoreDataDirectory(join(folder, 'three'), join(folder, 'back'));
    isUntouched();
    holdsOwnFilesAlone(join(folder, 'back'));
  });
});
