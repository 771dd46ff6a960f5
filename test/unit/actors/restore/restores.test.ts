import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { RestoreProtocol } from '../../../../src/actors/restore/protocol.ts';
import { Unsettled } from '../../../../src/backups/restores/failures.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { ServiceError } from '../../../../src/lib/errors.ts';
import type { BackupRunRecord, RestoreRunRecord } from '../../../../src/store/records/records.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { DatabaseFixture } from '../../../support/database-fixture.ts';
import { eventually } from '../../../support/eventually.ts';

const rights = { configure: true, env: true, upload: true };
const dump = `PGDMP${'row '.repeat(1000)}`;

describe('restores of a database', () => {
  let place: DatabaseFixture;
  let id: string;
  beforeEach(async () => {
    place = await new DatabaseFixture().open();
    id = await place.create();
    await place.until(id, 'running');
  });
  afterEach(() => place.close());

  const ask = <T extends keyof RestoreProtocol>(
    message: { type: T } & RestoreProtocol[T]['in'],
  ): Promise<RestoreProtocol[T]['out']> => place.ask(id, message);

  const begin = async (artifact: Uint8Array): Promise<string> => {
    const { run, dir, name } = await ask({ type: 'restore-begin' });
    await writeFile(join(dir, name), artifact);
    return run.id;
  };
  const commit = (restoreId: string, recoveryKey: string | null = null): Promise<boolean> =>
    ask({ type: 'restore-commit', restoreId, recoveryKey, rights });
  const record = (restoreId: string): Readonly<RestoreRunRecord> => {
    const run = place.store.get(tables.restoreRuns, restoreId);
    assert.ok(run);
    return run;
  };
  const ended = async (restoreId: string): Promise<Readonly<RestoreRunRecord>> => {
    await eventually('the end', () => record(restoreId).status !== 'running');
    return record(restoreId);
  };
  const restored = async (artifact: Uint8Array): Promise<Readonly<RestoreRunRecord>> => {
    const restoreId = await begin(artifact);
    await commit(restoreId);
    return ended(restoreId);
  };
  const refusal = (code: string) => (error: unknown) => {
    assert.ok(error instanceof ServiceError, String(error));
    assert.equal(error.code, code);
    return true;
  };

  it('gives a checked artifact to its restorer, and leaves nothing of it', async () => {
    const run = await restored(gzipSync(dump));
    assert.deepEqual([run.status, run.error, run.phase], ['success', null, 'ended']);
    assert.equal(place.restores.restored[0]?.text, dump);
    assert.equal(place.restores.restored[0].of.artifact.form, 'dump');
    assert.deepEqual(readdirSync(place.restores.root), []);
    assert.ok(run.log.includes('The restored data is in place.'), run.log.join('\n'));
    assert.equal(place.record(id).status, 'running');
  });

  it('touches nothing for an artifact that is cut off, or of another engine', async () => {
    const whole = gzipSync(dump);
    const broken: [Uint8Array, RegExp][] = [
      [whole.subarray(0, whole.length - 9), /ARCHIVE_CORRUPT/],
      [gzipSync(`REDIS0011${'x'.repeat(600)}`), /is a backup of a Redis database.*ARTIFACT_UNFIT/],
      [gzipSync('-- MariaDB dump 10.19\n'), /is a backup of a MariaDB database/],
      [gzipSync('hello'), /no backup that is known here/],
      [gzipSync(''), /no backup that is known here/],
    ];
    for (const [artifact, why] of broken) {
      const run = await restored(artifact);
      assert.equal(run.status, 'failed');
      assert.match(run.error ?? '', why);
      assert.ok(run.log.includes('Nothing was changed.'));
    }
    assert.deepEqual(place.restores.restored, []);
    assert.deepEqual(readdirSync(place.restores.root), []);
  });

  it('refuses a second restore from the first byte of the first one on', async () => {
    const first = await begin(gzipSync(dump));
    await assert.rejects(ask({ type: 'restore-begin' }), refusal('RESTORE_RUNNING'));
    assert.equal(await ask({ type: 'restore-abort', restoreId: first, reason: 'It left.' }), true);
    assert.equal(record(first).error, 'It left.');
    assert.deepEqual(readdirSync(place.restores.root), []);
    await assert.rejects(commit(first), refusal('CONFLICT'));
    assert.equal((await restored(gzipSync(dump))).status, 'success');
  });

  it('keeps start, stop, deletion and rotation away while data is replaced', async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    let began = false;
    place.restores.onRestore = () => {
      began = true;
      return promise;
    };
    const restoreId = await begin(gzipSync(dump));
    await commit(restoreId);
    await eventually('the restorer', () => began);
    assert.equal(record(restoreId).phase, 'replacing');
    for (const message of [
      { type: 'set-running', running: false },
      { type: 'set-running', running: true },
      { type: 'delete' },
      { type: 'rotate' },
    ] as const) {
      await assert.rejects(place.ask(id, message), refusal('RESTORE_RUNNING'));
    }
    resolve(undefined);
    assert.equal((await ended(restoreId)).status, 'success');
    await eventually('it may be stopped', async () => {
      const stopping = place.ask(id, { type: 'set-running', running: false });
      return stopping.then(
        () => true,
        () => false,
      );
    });
  });

  it('stops and starts the database for its restorer, and for nobody else', async () => {
    const seen: string[] = [];
    const live = place.record(id).run.live ?? '';
    place.restores.onRestore = async ({ control }) => {
      await control.stop();
      seen.push(place.record(id).run.live ?? 'none');
      await place.ask(id, { type: 'recover' });
      seen.push(place.record(id).run.next ?? 'none');
      await control.start();
      seen.push(place.record(id).status);
    };
    assert.equal((await restored(gzipSync(dump))).status, 'success');
    assert.deepEqual(seen, ['none', 'none', 'running']);
    assert.ok(place.driver.removed.includes(live));
  });

  it('tells whose data is in place after a failure', async () => {
    place.restores.onRestore = () => {
      throw new ServiceError('OVERLOADED', 'It broke. The previous data is back.');
    };
    const back = await restored(gzipSync(dump));
    assert.equal(back.error, 'It broke. The previous data is back. (OVERLOADED)');
    place.restores.onRestore = () => {
      throw new Error('a bug');
    };
    const lost = await restored(gzipSync(dump));
    assert.match(lost.log.at(-1) ?? '', /^It is not known whether/);
    assert.ok(!JSON.stringify(lost).includes('a bug'));
  });

  it('ends what a server left that died, as soon as that is back', async () => {
    const states = ['previous', 'restored'] as const;
    for (const state of states) {
      place.restores.onRestore = () => {
        throw new Unsettled(new ServiceError('RESTORE_FAILED', 'The server ended.'));
      };
      place.restores.recover = async ({ control }) => {
        await control.start();
        return state;
      };
      const run = await restored(gzipSync(dump));
      const error = state === 'previous' ? 'The server ended. (RESTORE_FAILED)' : null;
      assert.equal(run.error, error);
      assert.equal(run.log.at(-1), `The ${state} data is in place.`);
    }
  });

  it('ends at its deadline, and lets go of its target and of its turn', async () => {
    place.restores.deadlineMs = 100;
    place.restores.onRestore = (_of, _log, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    const late = /^The restore took longer than 0 minutes\. \(DEADLINE_EXCEEDED\)$/;
    for (let i = 0; i < 3; i++) {
      const run = await restored(gzipSync(dump));
      assert.match(run.error ?? '', late);
    }
    await place.ask(id, { type: 'set-running', running: true });
    place.restores.onRestore = () => undefined;
    place.restores.deadlineMs = 3_600_000;
    assert.equal((await restored(gzipSync(dump))).status, 'success');
  });

  it('goes on past its deadline once its data takes the place of the live one', async (t) => {
    place.restores.deadlineMs = 123_456;
    let isOver = (): void => undefined;
    const after = systemClock.after.bind(systemClock);
    t.mock.method(systemClock, 'after', (ms: number, callback: () => void) => {
      if (ms === place.restores.deadlineMs) isOver = callback;
      return after(ms, callback);
    });
    place.restores.onRestore = async ({ control }, _log, signal) => {
      isOver();
      assert.ok(signal.aborted);
      await control.stop();
      await control.start();
      await control.replaced();
    };
    assert.equal((await restored(gzipSync(dump))).error, null);
    place.restores.onRestore = () => {
      isOver();
      throw new Unsettled(new ServiceError('RESTORE_FAILED', 'The server ended.'));
    };
    place.restores.recover = async ({ control }, signal) => {
      signal.throwIfAborted();
      await control.start();
      return 'previous';
    };
    assert.equal((await restored(gzipSync(dump))).log.at(-1), 'The previous data is in place.');
  });

  it('says that it waits for other restores', async () => {
    const { turns } = place.restores;
    const never = new AbortController().signal;
    const leave = await turns.take('team_other', never);
    await turns.take('team_other', never);
    const restoreId = await begin(gzipSync(dump));
    await commit(restoreId);
    await eventually('a line', () => record(restoreId).log.length > 0);
    assert.deepEqual(record(restoreId).log, ['Waiting for other restores.']);
    leave();
    assert.equal((await ended(restoreId)).status, 'success');
  });

  it('keeps a recovery key in no record and no line of the log', async () => {
    const key = 'AGE-SECRET-KEY-1THEKEY';
    const restoreId = await begin(gzipSync(dump));
    await commit(restoreId, key);
    await ended(restoreId);
    assert.deepEqual(place.restores.recoveryKeys, [key, key]);
    const told = JSON.stringify([record(restoreId), place.logger.records]);
    assert.ok(!told.includes('THEKEY'));
  });

  it('tells its log from any line on, also after its end', async () => {
    const restoreId = await begin(gzipSync(dump));
    place.restores.onRestore = (_of, log) => {
      for (let line = 0; line < 1000; line++) log(`line ${String(line)}`);
      log('two\nlines\u001b[31m');
    };
    await commit(restoreId);
    const run = await ended(restoreId);
    assert.equal(run.log.length, 500);
    const all = await ask({ type: 'restore-news', restoreId, from: 0 });
    assert.equal(all.status, 'success');
    assert.equal(all.lines.length, 500);
    assert.ok(all.next > 1000);
    const rest = await ask({ type: 'restore-news', restoreId, from: all.next - 3 });
    assert.deepEqual(rest.lines, ['two', 'lines[31m', 'The restored data is in place.']);
  });

  it('ends as failed at the next start what was under way, and says whose data is in place', async () => {
    const receiving = await begin(gzipSync(dump));
    await place.crash();
    await place.ask(id, { type: 'wake' });
    const first = await ended(receiving);
    assert.match(first.error ?? '', /Nothing was changed\. \(RESTORE_INTERRUPTED\)/);
    assert.ok(!existsSync(join(place.restores.root, receiving)));

    place.restores.onRestore = (_of, _log, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('gone')));
      });
    const replacing = await begin(gzipSync(dump));
    await commit(replacing);
    await eventually('the restorer', () => record(replacing).phase === 'replacing');
    const told: boolean[] = [];
    place.restores.recover = ({ isReplaced }) => {
      told.push(isReplaced);
      // Its server has to start first.
      return told.length === 1 ? Promise.reject(new Error('gone')) : Promise.resolve('previous');
    };
    await place.crash();
    await place.ask(id, { type: 'wake' });
    const second = await ended(replacing);
    assert.match(second.error ?? '', /The previous data is in place\./);
    assert.ok(second.log.includes('The previous data is in place.'));
    assert.deepEqual(told, [false, false]);

    place.restores.onRestore = async ({ control }, _log, signal) => {
      await control.replaced();
      await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('gone')));
      });
    };
    const replaced = await begin(gzipSync(dump));
    await commit(replaced);
    await eventually('it is replaced', () => record(replaced).phase === 'replaced');
    place.restores.recover = ({ isReplaced }) => Promise.resolve(isReplaced ? 'restored' : null);
    await place.crash();
    await place.ask(id, { type: 'wake' });
    const third = await ended(replaced);
    assert.match(third.error ?? '', /The restored data is in place\./);
    place.restores.onRestore = () => undefined;
    await place.until(id, 'running');
    assert.equal((await restored(gzipSync(dump))).status, 'success');
  });

  describe('of a stored backup', () => {
    const artifact = gzipSync(dump);
    const backup = (patch: Partial<BackupRunRecord>): void => {
      const run: BackupRunRecord = {
        id: 'run_1',
        teamId: 'team_1',
        kind: 'database',
        targetId: id,
        scheduleId: null,
        destinationId: 'dst_1',
        status: 'success',
        canceled: false,
        artifact: 'stored',
        key: 'the-key',
        source: 'postgresql',
        encrypted: false,
        sizeBytes: artifact.length,
        progressBytes: artifact.length,
        sha256: createHash('sha256').update(artifact).digest('hex'),
        verifiedAtMs: 1,
        error: null,
        startedAtMs: 1,
        finishedAtMs: 2,
        ...patch,
      };
      place.store.write([put(tables.backupRuns, run)]);
    };
    const restore = (): Promise<RestoreRunRecord> =>
      ask({ type: 'restore-run', backupRunId: 'run_1', rights });

    it('fetches it, compares it, and restores it', async () => {
      place.restores.objects.set('the-key', artifact);
      backup({});
      const { id: restoreId, backupRunId, status } = await restore();
      assert.deepEqual([backupRunId, status], ['run_1', 'running']);
      assert.equal((await ended(restoreId)).status, 'success');
      assert.equal(place.restores.restored[0]?.text, dump);
    });

    it('ends at its deadline though its destination gives a byte again and again', async () => {
      place.restores.deadlineMs = 100;
      backup({});
      place.restores.readObject = () => {
        const stream = (async function* () {
          for (;;) {
            yield new Uint8Array(1);
            await setImmediate();
          }
        })();
        return Promise.resolve({ bytes: artifact.length, stream });
      };
      const run = await ended((await restore()).id);
      assert.match(run.error ?? '', /\(DEADLINE_EXCEEDED\)$/);
      assert.ok(run.log.includes('Nothing was changed.'));
      assert.deepEqual(readdirSync(place.restores.root), []);
    });

    it('refuses one that did not end well, and touches nothing for one that was changed', async () => {
      backup({ status: 'verifying' });
      await assert.rejects(restore(), refusal('RUN_NOT_FINISHED'));
      backup({ status: 'failed', artifact: 'none' });
      await assert.rejects(restore(), refusal('ARTIFACT_GONE'));
      backup({ targetId: 'db_other' });
      await assert.rejects(restore(), refusal('NOT_FOUND'));
      backup({});
      const gone = await ended((await restore()).id);
      assert.match(gone.error ?? '', /ARTIFACT_GONE/);
      let isRead = false;
      const { readObject } = place.restores;
      place.restores.readObject = () => {
        const stream = (async function* () {
          isRead = true;
          for (;;) yield await Promise.resolve(new Uint8Array(1024));
        })();
        return Promise.resolve({ bytes: 2 ** 40, stream });
      };
      const endless = await ended((await restore()).id);
      assert.match(endless.error ?? '', /VERIFICATION_FAILED/);
      assert.equal(isRead, false);
      place.restores.readObject = readObject;
      const flipped = Buffer.from(artifact);
      flipped.writeUInt8(artifact.readUInt8(50) ^ 1, 50);
      place.restores.objects.set('the-key', flipped);
      const changed = await ended((await restore()).id);
      assert.match(changed.error ?? '', /VERIFICATION_FAILED/);
      assert.ok(changed.log.includes('Nothing was changed.'));
      assert.deepEqual(place.restores.restored, []);
    });
  });
});
