import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import type { ServiceError } from '../../src/lib/errors.ts';
import { BulkPool } from '../../src/archives/receiving/bulk-pool.ts';
import { tar } from '../support/archives.ts';
import { eventually } from '../support/eventually.ts';
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

  it('ends while a part of the disk is still free, which the store needs', async (t) => {
    const disk = smallDisk(t, 64);
    if (disk === undefined) return;
    const pool = new BulkPool({
      ...{ temporaryDir: join(disk, 'tmp'), logger: recordingLogger(), clock: systemClock },
      windowBytes: 2 ** 20,
    });
    t.after(() => pool.close());
    const failures: Error[] = [];
    let goOn = (): void => undefined;
    const receiving = {
      ...({ format: 'bytes', dir: disk, blob: 'endless' } as const),
      onRoom: () => goOn(),
      onFailure: (error: Error) => {
        failures.push(error);
        goOn();
      },
    };
    const declared = { ...receiving, blob: 'declared', declaredBytes: 62 * 2 ** 20 };
    await assert.rejects(pool.receive(declared), { code: 'STORAGE_FULL' });
    const free = (): number => statfsSync(disk).bavail * statfsSync(disk).bsize;
    const file = await pool.receive(receiving);
    const piece = randomBytes(2 ** 19);
    let least = free();
    for (let sent = 0; sent < 140 && failures.length === 0; sent++) {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      goOn = () => resolve(undefined);
      if (!file.write(new Uint8Array(piece).buffer)) await promise;
      least = Math.min(least, free());
    }
    await eventually('the failure', () => failures.length > 0);
    assert.equal((failures[0] as ServiceError).code, 'STORAGE_FULL');
    assert.ok(least > 2 ** 20, String(least));
    assert.deepEqual(readdirSync(disk), ['tmp']);
    assert.deepEqual(readdirSync(join(disk, 'tmp')), []);
  });
});
