import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import { describe, it, type TestContext } from 'node:test';
import type { BackupOptions } from '../../../../src/actors/backup/deps.ts';
import { ServiceError } from '../../../../src/lib/errors.ts';
import {
  BackupFixture,
  destinationId,
  hanging,
  once,
  sha256,
  type Stage,
} from '../../../support/backup-fixture.ts';
import { eventually } from '../../../support/eventually.ts';
import { settle } from '../../../support/manual-clock.ts';

function fixture(t: TestContext, options: Partial<BackupOptions> = {}): BackupFixture {
  const made = new BackupFixture(options);
  t.after(() => made.close());
  return made;
}

/** A step that waits until it is let go. */
function gate(): { wait: Promise<void>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  return { wait: promise, open: () => resolve(undefined) };
}

describe('a run of a backup', () => {
  it('is running, verifying, then a success whose artifact is at its destination', async (t) => {
    const backups = fixture(t);
    const [reading, wait] = [gate(), new Set<Stage>()];
    backups.destination.onStage = (stage) => (stage === 'reading' ? reading.wait : wait.add(stage));
    const begun = await backups.run();
    assert.equal(begun.status, 'running');
    assert.equal(begun.sizeBytes, null);
    const verifying = await backups.until(begun.id, 'verifying');
    assert.equal(verifying.verifiedAtMs, null);
    reading.open();
    const run = await backups.until(begun.id, 'success');
    const artifact = backups.destination.objects.get(run.key ?? '') ?? Buffer.alloc(0);
    assert.equal(gunzipSync(artifact).toString(), 'some rows');
    assert.deepEqual(
      [run.sizeBytes, run.progressBytes, run.sha256, run.source, run.artifact],
      [artifact.length, artifact.length, sha256(artifact), 'postgresql', 'stored'],
    );
    assert.match(run.key ?? '', /^Shop-live-20231114T221320Z-run_\w+\.dump\.gz$/);
    assert.equal(run.error, null);
    assert.ok(run.verifiedAtMs !== null && run.finishedAtMs !== null);
  });

  const failures: readonly [string, Stage][] = [
    ['cannot be begun', 'open'],
    ['takes no bytes', 'write'],
    ['does not keep the object', 'finish'],
    ['cannot be read', 'read'],
    ['breaks off as it is read', 'reading'],
  ];
  for (const [what, at] of failures) {
    it(`fails and leaves nothing when its destination ${what}`, async (t) => {
      const backups = fixture(t);
      backups.destination.onStage = (stage) => {
        if (stage === at) throw new ServiceError('DESTINATION_FAILED', 'The bucket said 403.');
      };
      const run = await backups.until((await backups.run()).id, 'failed');
      assert.equal(run.error, 'The bucket said 403. (DESTINATION_FAILED)');
      assert.equal(run.artifact, 'none');
      assert.ok(backups.destination.isEmpty);
    });
  }

  it('fails and leaves nothing when the dump fails at its end', async (t) => {
    const backups = fixture(t);
    backups.dump = async function* () {
      yield* once('half of it')();
      throw new ServiceError('NOT_RUNNING', 'The database ended.');
    };
    const run = await backups.until((await backups.run()).id, 'failed');
    assert.equal(run.error, 'The database ended. (NOT_RUNNING)');
    assert.ok(backups.destination.isEmpty);
  });

  it('says nothing of an error that nobody expected', async (t) => {
    const backups = fixture(t);
    backups.dump = async function* () {
      yield* once('half')();
      throw new Error('password=hunter2');
    };
    const run = await backups.until((await backups.run()).id, 'failed');
    assert.equal(run.error, 'Something went wrong on our side. (INTERNAL)');
  });

  const wrong: readonly [string, (artifact: Buffer) => Buffer][] = [
    ['has a bit turned', (bytes) => Buffer.concat([bytes.subarray(0, -1), Buffer.of(255)])],
    ['is shorter', (bytes) => bytes.subarray(0, -1)],
    ['is longer', (bytes) => Buffer.concat([bytes, Buffer.of(0)])],
  ];
  for (const [what, change] of wrong) {
    it(`fails with VERIFICATION_FAILED when what is read back ${what}`, async (t) => {
      const backups = fixture(t);
      const { destination } = backups;
      destination.onStage = (stage, key) => {
        const kept = destination.objects.get(key);
        if (stage === 'read' && kept) destination.objects.set(key, change(kept));
      };
      const run = await backups.until((await backups.run()).id, 'failed');
      assert.match(run.error ?? '', /\(VERIFICATION_FAILED\)$/);
      assert.ok(destination.isEmpty);
    });
  }

  it('fails when a destination lies about the length', async (t) => {
    const backups = fixture(t);
    const read = backups.destination.read.bind(backups.destination);
    backups.destination.read = async (key) => ({ ...(await read(key)), bytes: 3 });
    const run = await backups.until((await backups.run()).id, 'failed');
    assert.match(run.error ?? '', /with 3 bytes.*\(VERIFICATION_FAILED\)$/);
  });

  it('is canceled, at whatever stage it is, and leaves nothing', async (t) => {
    for (const at of ['open', 'write', 'finish', 'read', 'reading'] as const) {
      const backups = fixture(t);
      const reached = gate();
      backups.destination.onStage = (stage, _key, signal) => {
        if (stage !== at) return;
        reached.open();
        return new Promise((_resolve, reject) =>
          signal?.addEventListener('abort', () => reject(signal.reason as Error)),
        );
      };
      const { id } = await backups.run();
      await reached.wait;
      assert.equal(await backups.ask({ type: 'cancel', runId: id }), true);
      const run = await backups.until(id, 'canceled');
      assert.equal(run.error, null);
      assert.ok(backups.destination.isEmpty, at);
      assert.equal(await backups.ask({ type: 'cancel', runId: id }), false);
    }
  });

  it('waits for what it cannot stop before it removes the artifact', async (t) => {
    const backups = fixture(t);
    const [reached, finishing] = [gate(), gate()];
    backups.destination.onStage = (stage) => {
      if (stage !== 'finish') return;
      reached.open();
      return finishing.wait;
    };
    const { id } = await backups.run();
    await reached.wait;
    await backups.ask({ type: 'cancel', runId: id });
    await settle();
    finishing.open();
    await backups.until(id, 'canceled');
    assert.ok(backups.destination.isEmpty);
  });

  it('ends at its deadline though the source hangs', async (t) => {
    const backups = fixture(t);
    backups.dump = hanging;
    const { id } = await backups.run();
    await eventually('begun', () => backups.stored(id).artifact === 'writing');
    await backups.clock.advance(3_600_000);
    const run = await backups.until(id, 'failed');
    assert.equal(run.error, 'The backup took longer than 60 minutes. (DEADLINE_EXCEEDED)');
    assert.ok(backups.destination.isEmpty);
  });

  for (const [clock, passedMs] of [
    ['', 1_500],
    [', also behind a clock that was set back', -3_600_000],
  ] as const)
    it(`tells how far it is${clock}`, async (t) => {
      const backups = fixture(t);
      let writes = 0;
      const stopped = gate();
      backups.destination.onStage = async (stage) => {
        if (stage !== 'write') return;
        writes += 1;
        if (writes === 2) await stopped.wait;
        if (writes === 3) await new Promise(() => undefined);
      };
      const { id } = await backups.run();
      await eventually('written', () => writes === 2);
      await backups.clock.jump(passedMs);
      stopped.open();
      await eventually('told', () => (backups.stored(id).progressBytes ?? 0) > 0);
      assert.equal(backups.stored(id).progressBytes, 20);
    });

  it('is refused while one to the same destination is under way', async (t) => {
    const backups = fixture(t);
    backups.dump = hanging;
    const { id } = await backups.run();
    await assert.rejects(backups.run(), { code: 'BACKUP_RUNNING' });
    await backups.ask({ type: 'cancel', runId: id });
    await backups.until(id, 'canceled');
    await backups.run();
  });

  it('is refused to the destination of another team, and of what is gone', async (t) => {
    const backups = fixture(t);
    await assert.rejects(backups.ask({ type: 'run', destinationId }, 'db_other'), {
      code: 'NOT_FOUND',
      message: 'No such destination.',
    });
    await assert.rejects(backups.ask({ type: 'run', destinationId }, 'db_none'), {
      code: 'NOT_FOUND',
    });
  });

  it('is removed with its artifact, once it has ended', async (t) => {
    const backups = fixture(t);
    const reading = gate();
    backups.destination.onStage = (stage) => (stage === 'reading' ? reading.wait : undefined);
    const { id } = await backups.run();
    await backups.until(id, 'verifying');
    const message = { type: 'run-delete', runId: id } as const;
    await assert.rejects(backups.ask(message), { code: 'RUN_NOT_FINISHED' });
    reading.open();
    await backups.until(id, 'success');
    await assert.rejects(backups.ask(message, 'db_two'), { code: 'NOT_FOUND' });
    backups.destination.onStage = () => {
      throw new ServiceError('DESTINATION_FAILED', 'It is away.');
    };
    await assert.rejects(backups.ask(message), { code: 'DESTINATION_FAILED' });
    assert.equal(backups.stored(id).status, 'success');
    backups.destination.onStage = () => undefined;
    assert.equal(await backups.ask(message), true);
    assert.ok(backups.destination.isEmpty);
    assert.equal(backups.runs().length, 0);
  });

  it('is removed also where its destination cannot say what else was begun', async (t) => {
    const backups = fixture(t);
    const { id } = await backups.run();
    await backups.until(id, 'success');
    backups.destination.onStage = (stage) => {
      if (stage === 'sweep') throw new ServiceError('DESTINATION_FAILED', 'The bucket said 500.');
    };
    assert.equal(await backups.ask({ type: 'run-delete', runId: id }), true);
    assert.ok(backups.destination.isEmpty);
    assert.equal(backups.runs().length, 0);
    assert.ok(backups.logger.records.some(({ event }) => event === 'destination_not_swept'));
  });

  it('tries again to remove what its destination kept', async (t) => {
    const backups = fixture(t);
    const { destination } = backups;
    let isAway = true;
    destination.onStage = (stage) => {
      const breaks = stage === 'reading' || ((stage === 'remove' || stage === 'sweep') && isAway);
      if (breaks) throw new ServiceError('DESTINATION_FAILED', 'It is away.');
    };
    const run = await backups.until((await backups.run()).id, 'failed');
    assert.equal(run.artifact, 'leaving');
    assert.equal(destination.objects.size, 1);
    await backups.clock.advance(11 * 60_000);
    assert.equal(destination.objects.size, 1);
    isAway = false;
    await backups.clock.advance(11 * 60_000);
    await eventually('removed', () => backups.stored(run.id).artifact === 'none');
    assert.ok(destination.isEmpty);
    assert.equal(backups.stored(run.id).error, run.error);
  });

  it('does not wait for a destination that never removes', async (t) => {
    const backups = fixture(t);
    const reached = gate();
    backups.destination.onStage = (stage) => {
      if (stage === 'read') throw new ServiceError('DESTINATION_FAILED', 'It is away.');
      if (stage === 'remove') {
        reached.open();
        return new Promise(() => undefined);
      }
      return undefined;
    };
    const { id } = await backups.run();
    await reached.wait;
    await backups.clock.advance(20_000);
    assert.equal((await backups.until(id, 'failed')).artifact, 'leaving');
  });
});

describe('a run that was under way when the service died', () => {
  it('is failed at the next start, and what it left is removed', async (t) => {
    const backups = fixture(t);
    backups.dump = hanging;
    const { id } = await backups.run();
    await eventually('begun', () => backups.destination.parts.size === 1);
    await backups.crash();
    assert.equal(backups.stored(id).status, 'running');
    assert.equal(backups.destination.parts.size, 1);
    backups.begin();
    const run = await backups.until(id, 'failed');
    assert.equal(run.error, 'Gangway ended while this backup was being made. (BACKUP_INTERRUPTED)');
    assert.ok(backups.destination.isEmpty);
  });

  it('is failed and removed while it was being verified', async (t) => {
    const backups = fixture(t);
    backups.destination.onStage = (stage) =>
      stage === 'reading' ? new Promise(() => undefined) : undefined;
    const { id } = await backups.run();
    await backups.until(id, 'verifying');
    await backups.crash();
    assert.equal(backups.destination.objects.size, 1);
    backups.begin();
    await backups.until(id, 'failed');
    assert.ok(backups.destination.isEmpty);
  });

  it('is canceled where somebody had asked for that', async (t) => {
    const backups = fixture(t);
    const reached = gate();
    backups.destination.onStage = (stage) => {
      if (stage !== 'write') return;
      reached.open();
      return new Promise(() => undefined);
    };
    const { id } = await backups.run();
    await reached.wait;
    await backups.ask({ type: 'cancel', runId: id });
    await backups.crash();
    backups.destination.onStage = () => undefined;
    backups.begin();
    assert.equal((await backups.until(id, 'canceled')).error, null);
    assert.ok(backups.destination.isEmpty);
  });

  it('begins after all where it only waited for its turn', async (t) => {
    const backups = fixture(t);
    await backups.turns.take('team_other', new AbortController().signal);
    await backups.turns.take('team_other', new AbortController().signal);
    const { id } = await backups.run();
    assert.equal(backups.stored(id).progressBytes, null);
    await backups.crash();
    backups.dump = once('rows');
    backups.begin();
    await backups.until(id, 'success');
  });

  it('is done with when nobody knows its destination any more', async (t) => {
    const backups = fixture(t);
    backups.dump = hanging;
    const { id } = await backups.run();
    await eventually('begun', () => backups.destination.parts.size === 1);
    await backups.crash();
    backups.forgetDestination();
    backups.begin();
    assert.equal((await backups.until(id, 'failed')).artifact, 'none');
  });
});
