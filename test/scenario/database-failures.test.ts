/** What happens to databases when something ends that should not. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Databases, refuses, rowsOf } from '../support/databases.ts';
import { LogTail } from '../support/log-tail.ts';
import { needs } from '../support/programs.ts';
import { Gangway, until } from '../support/gangway.ts';
import { processesOf, signal } from '../support/processes.ts';

interface Told {
  status: string;
  error: string | null;
}

describe('a database', () => {
  let gangway: Gangway;
  let databases: Databases;
  before(async () => {
    gangway = await Gangway.open();
    databases = new Databases(gangway);
  });
  after(() => gangway.end());

  const programsOf = (id: string): { pid: number; command: string }[] =>
    processesOf(gangway.dataDir).filter(({ command }) => command.includes(id));
  const serverOf = (id: string): number | undefined =>
    programsOf(id).find(({ command }) => command.includes('/postgres -D '))?.pid;
  const deleted = async (id: string): Promise<void> => {
    await databases.delete(id);
    await until('nothing of it runs', 30_000, () => programsOf(id).length === 0);
  };

  it('whose server is killed is in error, and runs again with what was committed', async (t) => {
    const { id } = await databases.running();
    const address = await databases.reveal(id);
    await rowsOf(address, 'CREATE TABLE t (n int)', 'INSERT INTO t VALUES (1)');
    const pid = serverOf(id);
    assert.ok(pid !== undefined);
    // Who asks now and then may miss the error.
    const query = `subscription { databaseStatus(id: "${id}") { status error } }`;
    const { cookie } = gangway.client;
    const headers = { cookie, accept: 'text/event-stream', 'content-type': 'application/json' };
    const url = `${gangway.url}/api/graphql`;
    const tail = new LogTail(url, headers, JSON.stringify({ query }));
    t.after(() => tail.close());
    const told = (): Told[] =>
      tail.events.flatMap(({ event, data }) => {
        if (event !== 'next') return [];
        return [(JSON.parse(data) as { data: { databaseStatus: Told } }).data.databaseStatus];
      });
    await until('it is watched', 30_000, () => told().at(-1)?.status === 'running');
    signal(pid, 'SIGKILL');
    await until('it ended and runs again', 90_000, () => {
      const ended = told().findIndex(({ status }) => status === 'error');
      return ended !== -1 && told().at(-1)?.status === 'running';
    });
    const errors = told().filter(({ status }) => status === 'error');
    for (const { error } of errors) assert.match(error ?? '', /ended by SIGKILL.*started again/);
    assert.equal((await databases.mustSee(id)).error, null);
    assert.deepEqual(await rowsOf(address, 'SELECT n FROM t'), [{ n: 1 }]);
    await deleted(id);
  });

  const moments: [string, (id: string) => boolean][] = [
    ['before anything of it ran', () => true],
    // One that was missed has become the server.
    ['while its files are made', (id) => programsOf(id).some(({ command }) => /initdb|postgres -D /.test(command))], // prettier-ignore
    ['when its server has started', (id) => serverOf(id) !== undefined],
  ];
  for (const [moment, isThere] of moments) {
    it(`is made to its end when the service is killed ${moment}`, async () => {
      const { id } = await databases.create();
      await until(moment, 30_000, () => isThere(id));
      await gangway.restart();
      await databases.becomes(id, 'running');
      const rows = await rowsOf(await databases.reveal(id), 'SELECT current_user AS me');
      assert.deepEqual(rows, [{ me: 'app' }]);
      assert.equal(programsOf(id).filter(({ command }) => command.includes('postgres -D')).length, 1); // prettier-ignore
      await deleted(id);
    });
  }

  it('outlives the service, and shows a password that gets in, when that is killed while it gives another one', async () => {
    const { id } = await databases.running();
    const before = await databases.reveal(id);
    const port = Number(new URL(before).port);
    const pid = serverOf(id);
    assert.ok(pid !== undefined);
    // It accepts connections and says nothing.
    signal(pid, 'SIGSTOP');
    databases.rotate(id).catch(() => undefined);
    await until('it is asked', 30_000, () => isConnectedTo(port));
    await gangway.kill9();
    signal(pid, 'SIGCONT');
    await gangway.start();
    // At once: the server may or may not have been told.
    const address = await databases.reveal(id);
    assert.notEqual(address, before);
    assert.ok(!(await refuses(address)));
    assert.ok(await refuses(before));
    await databases.becomes(id, 'running');
    assert.equal(serverOf(id), pid);
    assert.equal(await databases.reveal(id), address);
    await deleted(id);
  });

  it('whose runner is killed with everything runs again', async () => {
    const { id } = await databases.running();
    await rowsOf(await databases.reveal(id), 'CREATE TABLE kept (n int)');
    await gangway.killRunner();
    await until('it is told', 60_000, async () => (await databases.mustSee(id)).status === 'running'); // prettier-ignore
    // The server of before answers until it is seen off.
    await until('what it kept is read', 60_000, async () => {
      const rows = await rowsOf(await databases.reveal(id), 'SELECT n FROM kept').catch(() => null);
      return rows?.length === 0;
    });
    await deleted(id);
  });

  it('can be deleted, and stopped, while it is made', async () => {
    const { id: first } = await databases.create();
    await deleted(first);
    await gangway.client.must('mutation($id: ID!) { purgeFromTrash(id: $id) }', { id: first });
    const { id } = await databases.create();
    await until('its files are made', 30_000, () => programsOf(id).length > 0);
    assert.equal((await databases.setRunning(id, false)).status, 'stopped');
    await until('nothing of it runs', 30_000, () => programsOf(id).length === 0);
    await databases.setRunning(id, true);
    await databases.becomes(id, 'running');
    assert.ok(!(await refuses(await databases.reveal(id))));
    await deleted(id);
  });

  it('keeps its port while it is stopped: nobody else can listen there', async () => {
    const { id } = await databases.running();
    const { port } = new URL(await databases.reveal(id));
    await databases.setRunning(id, false);
    await until('nothing of it runs', 30_000, () => programsOf(id).length === 0);
    const squatter = createServer();
    const refused = new Promise<NodeJS.ErrnoException>((resolve, reject) => {
      squatter.once('error', resolve);
      squatter.listen(Number(port), '127.0.0.1', () => {
        squatter.close();
        reject(new Error('The port was free'));
      });
    });
    assert.equal((await refused).code, 'EADDRINUSE');
    await databases.setRunning(id, true);
    await until('it runs', 60_000, async () => (await databases.mustSee(id)).status === 'running');
    const address = await databases.reveal(id);
    assert.equal(new URL(address).port, port);
    assert.ok(!(await refuses(address)));
    await deleted(id);
  });
});

describe('a database on a disk that is full', { skip: needs('redis-server') }, () => {
  it('says so, and runs once there is room', async (t) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'gangway-full-'));
    const disk = join(dataDir, 'apps');
    mkdirSync(disk);
    const mount = ['-t', 'tmpfs', '-o', 'size=2m,mode=711', 'tmpfs', disk];
    const isMounted = spawnSync('mount', mount, { stdio: 'ignore' }).status === 0;
    t.after(() => {
      if (isMounted) spawnSync('umount', ['-l', disk], { stdio: 'ignore' });
      rmSync(dataDir, { recursive: true, force: true });
    });
    if (!isMounted) {
      t.skip('needs the right to mount a tmpfs');
      return;
    }
    const gangway = await Gangway.open({ dataDir });
    try {
      const databases = new Databases(gangway);
      const filler = join(disk, 'filler');
      const { bavail, bsize } = statfsSync(disk);
      writeFileSync(filler, Buffer.alloc(bavail * bsize));
      const { id } = await databases.create({ engine: 'REDIS' });
      await databases.becomes(id, 'error');
      assert.equal((await databases.mustSee(id)).error, 'The disk of this server is full.');
      rmSync(filler);
      await databases.setRunning(id, true);
      await databases.becomes(id, 'running');
    } finally {
      await gangway.end();
    }
  });
});

/** Whether somebody has connected to the socket of the PostgreSQL on this port. */
function isConnectedTo(port: number): boolean {
  const sockets = readFileSync('/proc/net/unix', 'latin1').split('\n');
  const name = `.s.PGSQL.${String(port)}`;
  // The one that listens, and one for each connection.
  return sockets.filter((line) => line.endsWith(name)).length > 1;
}
