/** What an app tries at the port of another team's database, and a database at those who come to its own. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import type { IsolationLayer } from '../../src/protocol/isolation.ts';
import { js, readAll, readSome, textOf, until } from '../support/driver-specs.ts';
import { layerSettings } from '../support/layer-settings.ts';
import { askedAs } from '../support/peers.ts';
import { needs } from '../support/programs.ts';
import { type ProcessPlace, processPlace } from '../support/runner.ts';

const uids = { victim: 300_501, friend: 218_001, spy: 218_002, person: 64_001 };
const asked = 300;

/** Greets who comes, and says how many there are. Its last argument is where it listens. */
const database = `const net = require('node:net');
let open = 0;
const at = process.argv.at(-1);
const server = net.createServer((socket) => {
  console.log('open ' + ++open);
  socket.on('error', () => undefined).once('close', () => open--);
  socket.end('rows');
});
try { require('node:fs').unlinkSync(at); } catch {}
server.listen(Number(at) ? { port: Number(at), host: '127.0.0.1' } : at, () => console.log('ready'));`;

/** Asks so often at once, holds on to what it gets, and prints by how many it was answered. */
const asking = `const net = require('node:net');
const [port, times] = process.argv.slice(-2).map(Number);
const ask = () => new Promise((resolve) => {
  let text = '';
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('data', (more) => (text += more)).on('error', () => undefined);
  socket.once('end', () => resolve(text === 'rows')).once('close', () => resolve(text === 'rows'));
});
Promise.all(Array.from({ length: times }, ask)).then((all) => {
  console.log(all.filter(Boolean).length + ' of ' + times);
  process.exit();
});`;

for (const [held, without] of Object.entries(layerSettings)) attacks(held, without);

function attacks(held: string, without: readonly IsolationLayer[]): void {
  describe(`the port of a database, held by ${held}`, { skip: needs('root') }, () => {
    const isShared = without.includes('network');
    let place: ProcessPlace;
    let port: number;
    let run: string;
    before(async () => {
      place = processPlace({ without });
      // As the service makes them: the folder is ours, and what is in it the database's.
      const root = path.join(place.dataDir, 'apps', 'db_victim');
      run = path.join(root, 'run');
      const temp = path.join(root, 'tmp');
      for (const dir of [run, temp]) fs.mkdirSync(dir, { recursive: true });
      for (const dir of [place.dataDir, path.dirname(root)]) fs.chmodSync(dir, 0o711);
      fs.chownSync(root, 0, uids.victim);
      fs.chmodSync(root, 0o710);
      for (const dir of [run, temp]) fs.chownSync(dir, uids.victim, uids.victim);
      fs.chmodSync(run, 0o700);
      port = await place.driver.freePort();
      const socket = path.join(run, 's');
      await place.driver.start(
        place.specOf({
          ...{ id: 'db-1', owner: 'db_victim', team: 'team_a', uid: uids.victim, kind: 'service' },
          ...{ port, keepsPort: true, stopGraceMs: 200, files: { root, temp } },
          command: [...js(database), '--', String(port)],
          behind: { socket, command: [...js(database), '--', socket] },
        }),
      );
      await until('the database', async () => (await place.driver.probe('db-1')) === 'listening');
    });
    after(() => place.close());

    async function answered(id: string, team: string, uid: number, times: number): Promise<string> {
      const command = [...js(asking), '--', String(port), String(times)];
      await place.driver.start(place.specOf({ id, owner: `app_${id}`, team, uid, command }));
      return textOf(await readAll(place.driver, id)).trim();
    }
    const open = async (): Promise<number> =>
      textOf(await readSome(place.driver, 'db-1')).split('open').length - 1;

    it('is reached by the apps of its team, and by programs of the machine', async () => {
      assert.equal(await answered('friend', 'team_a', uids.friend, 3), '3 of 3');
      assert.equal(await askedAs(process.getuid?.() ?? 0, port), 'rows');
      assert.equal(await askedAs(uids.person, port), 'rows');
      assert.equal(await answered('itself', 'team_a', uids.victim, 1), '1 of 1');
    });

    it('is not reached by the apps of others, however often they ask, and serves its own meanwhile', async () => {
      const before = await open();
      const spied = answered('spy', 'team_b', uids.spy, asked);
      assert.equal(await answered('friend-2', 'team_a', uids.friend, 3), '3 of 3');
      assert.equal(await spied, `0 of ${String(asked)}`);
      assert.equal(await open(), before + 3);
      // What ended is nobody's neighbour any more.
      await place.driver.remove('friend');
      await place.driver.remove('friend-2');
      if (isShared) assert.equal(await askedAs(uids.friend, port), '');
    });

    if (!isShared) return;

    it('leads to no socket but its own, whatever is put in its place', async (t) => {
      const socket = path.join(run, 's');
      const ours = path.join(place.dataDir, 'run', 'runner.sock');
      fs.renameSync(socket, `${socket}.kept`);
      fs.symlinkSync(ours, socket);
      assert.equal(await askedAs(0, port), '');
      fs.rmSync(socket);
      const foreign = net.createServer((one) => one.end('rows')).listen(socket);
      t.after(() => foreign.close());
      await until('it listens', () => fs.existsSync(socket));
      assert.equal(await askedAs(0, port), '');
      fs.rmSync(socket);
      fs.renameSync(`${socket}.kept`, socket);
      assert.equal(await askedAs(0, port), 'rows');
    });

    it('is told when somebody else took it between two runners', async (t) => {
      await place.driver.close();
      await place.killRunner();
      const taker = await until('the port', () => listeningAt(port));
      const driver = await place.reopen();
      t.after(async () => {
        taker.close();
        await driver.close();
      });
      await until('that it is known', async () => {
        const state = (await driver.inspect('db-1'))?.state;
        return state?.phase !== 'ended' && state?.portTaken === true;
      });
      assert.equal(await driver.probe('db-1'), 'foreign');
    });
  });
}

/** Undefined while somebody else does: what was killed ends thread by thread. */
function listeningAt(port: number): Promise<net.Server | undefined> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => {
      resolve(undefined);
    });
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      resolve(server);
    });
  });
}
