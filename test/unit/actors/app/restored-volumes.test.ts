import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { writeAppJson } from '../../../../src/backups/app-json.ts';
import { tarEnd } from '../../../../src/backups/tar/tar-header.ts';
import { textEntry } from '../../../../src/backups/tar/tar-tree.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { appFixture } from '../../../support/app-fixture.ts';
import type { AppFixture } from '../../../support/app-fixture.ts';
import { eventually } from '../../../support/eventually.ts';
import { ScriptedImages } from '../../../support/scripted-images.ts';

async function deployed(f: AppFixture, appId: string): Promise<void> {
  const { id } = await f.ask(appId, { type: 'redeploy', trigger: 'api' });
  await f.until(id, 'ready');
}

describe('an app in containers', () => {
  it('starts with the volumes that a restore has made, also after a crash', async (t) => {
    const images = new ScriptedImages();
    const f = await appFixture({ images });
    t.after(() => f.close());
    f.source.files = { Dockerfile: 'FROM base' };
    images.onBuild = () => ({ ports: [3000] });
    const { id } = await f.uploaded();
    await deployed(f, id);
    f.restores.onRestore = async ({ control }) => {
      await control.stop();
      await control.useVolumes({ data: 'made' }, null);
      await control.start();
    };
    const { run } = await f.ask(id, { type: 'restore-begin' });
    await mkdir(f.restores.root, { recursive: true });
    const tar = [...textEntry('app.json', writeAppJson(f.app(id), [])), tarEnd];
    await writeFile(join(f.restores.root, run.id), gzipSync(Buffer.concat(tar)));
    const rights = { configure: false, env: false, upload: false };
    await f.ask(id, { type: 'restore-commit', restoreId: run.id, recoveryKey: null, rights });
    const find = () => f.store.get(tables.restoreRuns, run.id);
    await eventually('the end', () => find()?.status === 'success');
    const used = () => f.driver.started.at(-1)?.container?.volumes;
    assert.deepEqual(used(), [{ name: 'made', path: '/data' }]);
    await f.crash();
    await deployed(f, id);
    assert.deepEqual(used(), [{ name: 'made', path: '/data' }]);
  });
});
