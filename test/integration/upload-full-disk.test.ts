import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import { BulkPool } from '../../src/archives/receiving/bulk-pool.ts';
import { tar } from '../support/archives.ts';
import { recordingLogger } from '../support/silent-logger.ts';
import { smallDisk } from '../support/small-disk.ts';

describe('an upload to a disk that fills', () => {
  it('fails with STORAGE_FULL, leaves nothing, and works once there is room', async (t) => {
    const disk = smallDisk(t, 2);
    if (disk === undefined) return;
    const dir = join(disk, 'app');
    mkdirSync(dir);
    const temporaryDir = join(disk, 'tmp');
    const pool = new BulkPool({ temporaryDir, logger: recordingLogger(), clock: systemClock });
    t.after(() => pool.close());

    const send = async (blob: string, bytes: Buffer): Promise<void> => {
      const failed = Promise.withResolvers<never>();
      failed.promise.catch(() => undefined);
      const onFailure = failed.reject;
      const file = await pool.receive({
        format: 'tar',
        dir,
        blob,
        onRoom: () => undefined,
        onFailure,
      });
      file.write(new Uint8Array(bytes).buffer);
      await Promise.race([file.end(), failed.promise]);
    };
    const large = tar({ name: 'large', data: randomBytes(3_000_000) });
    await assert.rejects(send('large', large), { code: 'STORAGE_FULL' });
    assert.deepEqual([...readdirSync(dir), ...readdirSync(temporaryDir)], []);
    await send('small', tar({ name: 'small' }));
    assert.deepEqual(readdirSync(dir), ['small']);

    // Unpacking needs room of its own.
    const into = join(disk, 'out');
    const zeros = tar({ name: 'zeros', data: Buffer.alloc(1_200_000) });
    await send('zeros', zeros);
    await assert.rejects(pool.extract(join(dir, 'zeros'), 'tar', into), { code: 'STORAGE_FULL' });
    assert.deepEqual(readdirSync(disk).sort(), ['app', 'tmp']);
  });
});
