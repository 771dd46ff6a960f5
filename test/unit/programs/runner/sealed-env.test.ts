import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Records } from '../../../../src/programs/runner/records.ts';
import type { WorkloadRecord } from '../../../../src/programs/runner/records.ts';
import { EnvSeal } from '../../../../src/programs/runner/sealed-env.ts';

const seal = new EnvSeal(Buffer.alloc(32, 1));

describe('EnvSeal', () => {
  it('opens what it sealed, for the same workload and with the same key only', () => {
    const env = { SECRET: 'hunter2', EMPTY: '' };
    const sealed = seal.seal(env, 'w1');
    assert.deepEqual(seal.open(sealed, 'w1'), env);
    assert.throws(() => seal.open(sealed, 'w2'));
    assert.throws(() => new EnvSeal(Buffer.alloc(32, 2)).open(sealed, 'w1'));
    assert.throws(() => seal.open(sealed.slice(4), 'w1'));
    assert.throws(() => new EnvSeal(Buffer.alloc(0)));
  });
});

describe('Records', () => {
  it('keeps no variable readable on disk, and gives it back', (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'gangway-records-'));
    t.after(() => {
      rmSync(dir, { recursive: true });
    });
    const record: WorkloadRecord = {
      spec: {
        id: 'w1',
        owner: 'app_1',
        container: null,
        kind: 'service',
        command: ['true'],
        workingDir: '/',
        env: { SECRET: 'hunter2' },
        uid: null,
        port: null,
        resources: { memoryMb: null, cpus: null, pids: null, replicas: 1 },
        deadlineMs: null,
        stopGraceMs: 1,
      },
      want: 'run',
      restarts: 0,
      startedAtMs: 0,
      first: null,
      exit: null,
    };
    new Records(dir, seal).save(record, false);
    assert.ok(!readFileSync(join(dir, 'w1', 'workload.json'), 'utf8').includes('hunter2'));
    const damaged: string[] = [];
    const load = (key: EnvSeal): WorkloadRecord[] =>
      new Records(dir, key).load((id) => damaged.push(id));
    assert.deepEqual(load(seal), [record]);
    assert.deepEqual(load(new EnvSeal(Buffer.alloc(32, 2))), []);
    assert.deepEqual(damaged, ['w1']);
  });
});
