import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { tables } from '../../../../src/store/records/tables.ts';
import { DatabaseFixture } from '../../../support/database-fixture.ts';
import { eventually } from '../../../support/eventually.ts';

describe('a restore whose clock is set back', () => {
  it('goes on to tell what it does, and how far it is', async (t) => {
    const place = await new DatabaseFixture().open();
    t.after(() => place.close());
    const id = await place.create();
    await place.until(id, 'running');
    const { promise: over, resolve: end } = Promise.withResolvers<undefined>();
    const now = Date.now.bind(Date);
    place.restores.onRestore = async (_of, log) => {
      log('It begins.');
      t.mock.method(Date, 'now', () => now() - 3_600_000);
      log('It goes on.');
      await over;
    };
    const { run, dir, name } = await place.ask(id, { type: 'restore-begin' });
    await writeFile(join(dir, name), gzipSync(`PGDMP${'row '.repeat(1000)}`));
    const rights = { configure: true, env: true, upload: true };
    const commit = {
      type: 'restore-commit',
      restoreId: run.id,
      recoveryKey: null,
      rights,
    } as const;
    await place.ask(id, commit);
    const record = () => place.store.get(tables.restoreRuns, run.id) ?? run;
    await eventually('the line', () => record().log.includes('It goes on.'));
    end(undefined);
    await eventually('the end', () => record().status !== 'running');
    assert.equal(record().status, 'success');
    assert.ok(
      record().log.some((line) => line.startsWith('Restored ')),
      record().log.join('\n'),
    );
  });
});
