/**
 * What was answered is there after the power failed: the service runs under strace, and what it did not
 * sync is lost.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { dataFolders } from '../../src/service/data-folders.ts';
import { openStore } from '../../src/store/store.ts';
import { tables } from '../../src/store/records/tables.ts';
import { archiveOf } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { memoryLogger } from '../support/memory-logger.ts';
import { needs } from '../support/programs.ts';
import { afterPowerCut, tracedBy } from '../support/power-cut.ts';

const skip = needs('strace');
const patienceMs = 20_000;

it(
  'keeps through a power cut what was answered: records, archives and log lines',
  { skip },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'gangway-power-'));
    t.after(() => {
      rmSync(folder, { recursive: true, force: true });
    });
    const trace = join(folder, 'trace');
    const gangway = await Gangway.open({ runBy: tracedBy(trace) });
    t.after(() => gangway.end());
    const { client } = gangway;
    const archive = archiveOf({
      Procfile: 'web: node a.js',
      'a.js': `console.log('a line to keep');
      require('node:http').createServer((_, answer) => answer.end()).listen(process.env.PORT);`,
    });
    const app = await client.runningApp('Kept', archive);
    const another = archiveOf({ 'index.html': 'the newest' });
    await client.mustUpload(app.id, another);
    const last = await client.createApp('Last');
    const cut = join(folder, 'cut');
    const logs = (): Buffer => {
      rmSync(cut, { recursive: true, force: true });
      afterPowerCut(trace, gangway.dataDir, cut);
      const place = join(dataFolders(cut).logs, `app-${app.id}`);
      if (!existsSync(place)) return Buffer.alloc(0);
      return Buffer.concat(readdirSync(place).map((name) => readFileSync(join(place, name))));
    };
    // The runner keeps lines until they are on disk; nobody waits for that.
    await until('the line is on disk', patienceMs, () => logs().includes('a line to keep'));
    await gangway.kill9();
    afterPowerCut(trace, gangway.dataDir, cut);
    const store = await openStore({ dir: cut, logger: memoryLogger() });
    t.after(() => store.close());
    assert.equal(store.get(tables.apps, last.id)?.name, 'Last');
    const upload = store.get(tables.apps, app.id)?.upload;
    assert.ok(upload);
    const stored = readFileSync(join(dataFolders(cut).uploads, app.id, upload.blob));
    assert.ok(stored.equals(another));
    assert.ok(existsSync(join(cut, 'instance.key')));
  },
);
