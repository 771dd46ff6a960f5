/** What people choose and learn of the layers that keep apps of the process runtime apart. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { accessSync, constants, readdirSync, readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { archiveOf } from '../support/gangway-client.ts';
import { found } from '../support/eventually.ts';
import { Gangway } from '../support/gangway.ts';
import { needs } from '../support/programs.ts';
import { runnerHello } from '../support/runner.ts';

const archive = archiveOf({
  Procfile: 'web: node index.js',
  'index.js': `require('node:http').createServer((_, response) => response.end()).listen(process.env.PORT);`,
});

interface Layer {
  layer: string;
  holds: boolean;
  missing: string | null;
  consequence: string | null;
}

describe('a service that leaves out layers of isolation', () => {
  let gangway: Gangway;
  before(async () => {
    gangway = await Gangway.open({ env: { GANGWAY_ISOLATION_WITHOUT: 'network,mount' } });
    await gangway.client.runningApp('Plain', archive);
  });
  after(() => gangway.end());

  /** As the API tells them, once it knows. */
  async function layers(): Promise<Layer[]> {
    const query = '{ servers { isolation { layer holds missing consequence } } }';
    return await found('the layers are told', async () => {
      const { servers } = await gangway.client.must<{ servers: { isolation: Layer[] | null }[] }>(
        query,
      );
      return servers[0]?.isolation ?? undefined;
    });
  }

  it('isolationWithout says which layers of isolation are left out', async () => {
    assert.deepEqual((await runnerHello(gangway.dataDir))?.without, ['mount', 'network']);
    const leftOut = (await layers()).filter(
      ({ layer }) => layer === 'mount' || layer === 'network',
    );
    assert.deepEqual(
      leftOut.map(({ holds }) => holds),
      [false, false],
    );
  });

  it('serves before all that works beside it', { skip: needs('root') }, async () => {
    const pid = String(gangway.pid);
    assert.equal(niceOf(pid, pid), -10);
    // Threads of the pool hash and write.
    const pool = readdirSync(`/proc/${pid}/task`).filter((thread) => {
      return readFileSync(`/proc/${pid}/task/${thread}/comm`, 'latin1') === 'libuv-worker\n';
    });
    assert.deepEqual(
      pool.map((thread) => niceOf(pid, thread)),
      [0, 0, 0, 0],
    );
    const runner = String((await runnerHello(gangway.dataDir))?.pid);
    const children = readFileSync(`/proc/${runner}/task/${runner}/children`, 'latin1').split(' ');
    const edge = children.find((child) => /edge.main/.test(commandOf(child))) ?? '';
    assert.deepEqual(
      [edge, runner].map((one) => niceOf(one, one)),
      [-10, 0],
    );
    // Sessions would share the processor before that counts.
    const sessionShares = '/proc/sys/kernel/sched_autogroup_enabled';
    if (isWritable(sessionShares)) assert.equal(readFileSync(sessionShares, 'latin1').trim(), '0');
  });

  it('names them in its log, with what is not kept apart without them, and on any thread', async () => {
    const [line, ...others] = gangway.logged('isolation_layers_missing');
    assert.deepEqual(others, []);
    if (process.getuid?.() !== 0) {
      assert.match(String(line?.['detail']), /does not run as root/);
      return;
    }
    const leftOut = (await layers()).filter(({ holds }) => !holds);
    assert.deepEqual(
      line?.['layers'],
      leftOut.map(({ layer, missing, consequence }) => ({ layer, missing, consequence })),
    );
  });
});

/** A kernel may have no such setting, and a container may not change it. */
function isWritable(file: string): boolean {
  try {
    accessSync(file, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function commandOf(pid: string): string {
  return pid === '' ? '' : readFileSync(`/proc/${pid}/cmdline`, 'latin1');
}

/** What the kernel was asked for a thread; see proc(5). */
function niceOf(pid: string, thread: string): number {
  const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
}

const inNamespace = ['unshare', '--user', '--map-root-user'] as const;

describe('a service as root of a user namespace', { skip: needs('unshare') }, () => {
  it('runs apps as its own user where there are no ids for them, and says so', async (t) => {
    if (spawnSync(inNamespace[0], [...inNamespace.slice(1), 'true']).status !== 0) {
      t.skip('needs user namespaces');
      return;
    }
    const gangway = await Gangway.open({ runBy: inNamespace });
    t.after(() => gangway.end());
    await gangway.client.runningApp('Plain', archive);
    const [line] = gangway.logged('isolation_layers_missing');
    assert.match(String(line?.['detail']), /may not run programs as other users/);
  });
});
