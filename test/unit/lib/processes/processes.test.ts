import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { it } from 'node:test';
import type { TestContext } from 'node:test';
import {
  findMembers,
  lives,
  markVariable,
  readProcess,
} from '../../../../src/lib/processes/processes.ts';
import { eventually } from '../../../support/eventually.ts';
import { needs } from '../../../support/programs.ts';

const [ownUid, otherUid] = [214_001, 214_002];
const mark = `test:${String(process.pid)}`;

/** A program that carries the mark, in its own session. */
function marked(t: TestContext, uid: number | null): number {
  const child = spawn('/bin/sleep', ['1000'], {
    cwd: '/',
    env: { [markVariable]: mark },
    detached: true,
    stdio: 'ignore',
    ...(uid !== null && { uid, gid: uid }),
  });
  t.after(() => child.kill('SIGKILL'));
  return child.pid ?? 0;
}

const pidsOf = (membership: Parameters<typeof findMembers>[0]): number[] =>
  findMembers(membership).map(({ pid }) => pid);

it(
  'findMembers() takes a mark for a proof only under the uid of the workload',
  { skip: needs('root') },
  async (t) => {
    const own = marked(t, ownUid);
    const forger = marked(t, otherUid);
    await eventually('both run', () => pidsOf({ mark, first: null }).length === 2);
    assert.deepEqual(pidsOf({ mark, first: null, uid: ownUid }), [own]);
    assert.deepEqual(pidsOf({ mark, first: null, uid: otherUid }), [forger]);
  },
);

it('findMembers() believes the control group alone where there is one', async (t) => {
  const inside = marked(t, null);
  const forger = marked(t, null);
  await eventually('both run', () => pidsOf({ mark, first: null }).length === 2);
  const group = { pids: () => [inside], kill: () => undefined };
  assert.deepEqual(pidsOf({ mark, first: null, group }), [inside]);
  assert.deepEqual(pidsOf({ mark, first: null, within: group }), [inside]);
  // What is about to join belongs to it already.
  const first = { pid: forger, startTicks: readProcess(forger)?.startTicks ?? 0 };
  assert.deepEqual(pidsOf({ mark, first, group }).sort(), [inside, forger].sort());
  const another = { ...first, startTicks: first.startTicks - 1 };
  assert.deepEqual(pidsOf({ mark, first: another, group }), [inside]);
  assert.deepEqual([lives(first), lives(another)], [true, false]);
});
