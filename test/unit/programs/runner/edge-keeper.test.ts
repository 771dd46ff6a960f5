import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { type Clock, systemClock } from '../../../../src/lib/clock.ts';
import { EdgeKeeper } from '../../../../src/programs/runner/edge/edge-keeper.ts';
import { EnvSeal } from '../../../../src/programs/runner/sealed-env.ts';
import { ownProgram } from '../../../../src/programs/runner/edge/edge-process.ts';
import type { Target } from '../../../../src/protocol/edge-messages.ts';
import { trafficAt, trafficByApp } from '../../../../src/protocol/traffic.ts';
import { eventually } from '../../../support/eventually.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { freePort } from '../../../support/ports.ts';
import { childrenOf, isAlive } from '../../../support/processes.ts';
import { noLog, tempDir } from '../../../support/runner.ts';

describe('EdgeKeeper', () => {
  let dir: string;
  let port: number;
  let keeper: EdgeKeeper;
  let app: http.Server;
  let asked: string[];
  /** What holds an answer of the app back. */
  let hold: Promise<void>;

  beforeEach(async () => {
    dir = tempDir();
    port = await freePort();
    asked = [];
    hold = Promise.resolve();
    app = http.createServer((_req, res) => {
      // Each request is to show where it would go.
      res.setHeader('connection', 'close');
      void hold.then(() => res.end('app'));
    });
    await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
    keeper = make();
  });
  afterEach(async () => {
    await keeper.close();
    app.closeAllConnections();
    app.close();
    fs.rmSync(dir, { recursive: true });
  });

  const make = (clock: Clock = systemClock): EdgeKeeper => {
    const tenants = {
      ownSockets: (target: Target) => {
        asked.push(target.workload ?? '');
        return Promise.resolve(new Set(['7']));
      },
      leadIn: () => Promise.resolve(false),
    };
    return new EdgeKeeper({
      stateDir: dir,
      seal: new EnvSeal(Buffer.alloc(32, 7)),
      tenants: () => tenants,
      uid: null,
      panelDir: dir,
      clock,
      logger: noLog,
    });
  };
  const at = () => ({ host: '127.0.0.1', port: (app.address() as AddressInfo).port });
  const route = (more = {}) => [{ host: 'a.localhost', targets: [{ ...at(), ...more }] }];
  const listen = (at: number = port) => keeper.configure({ host: '127.0.0.1', port: at });
  const edges = (): number[] =>
    childrenOf(process.pid).filter((pid) =>
      fs.readFileSync(`/proc/${String(pid)}/cmdline`, 'latin1').includes('/main.'),
    );
  const ask = (agent: http.Agent | false = false): Promise<string> =>
    new Promise((resolve) => {
      const failed = (error: NodeJS.ErrnoException): void => {
        resolve(error.code ?? error.message);
      };
      http
        .get({ host: '127.0.0.1', port, agent, headers: { host: 'a.localhost' } }, (answer) => {
          let text = '';
          answer.setEncoding('utf8').on('data', (more: string) => (text += more));
          answer.once('error', failed);
          answer.once('end', () => {
            resolve(answer.statusCode === 200 ? text : String(answer.statusCode));
          });
        })
        .once('error', failed);
    });

  it('serves its routes, and keeps them for the next runner', async () => {
    await listen();
    assert.equal(await ask(), '404');
    await keeper.setRoutes(route());
    assert.equal(await ask(), 'app');
    assert.ok(keeper.active);
    await keeper.close();
    keeper = make();
    await listen();
    assert.equal(await ask(), 'app');
  });

  it('refuses a port in use, and serves it when it is free', async () => {
    const holder = net.createServer();
    await new Promise<void>((resolve) => holder.listen(port, '127.0.0.1', resolve));
    await assert.rejects(listen(), { code: 'CONFLICT', message: /port is in use/ });
    await assert.rejects(keeper.setRoutes(route()), { code: 'CONFLICT' });
    await new Promise((resolve) => holder.close(resolve));
    await eventually('it serves', async () => (await ask()) === 'app');
  });

  it('goes elsewhere and nowhere', async () => {
    await listen();
    const before = port;
    port = await freePort();
    await listen();
    assert.equal(await ask(), '404');
    await keeper.configure(null);
    assert.equal(await ask(), 'ECONNREFUSED');
    port = before;
    assert.equal(await ask(), 'ECONNREFUSED');
    await eventually('no process is left', () => edges().length === 0);
  });

  it('has another process at once when one is killed, and no connection is refused meanwhile', async () => {
    await keeper.setRoutes(route());
    await listen();
    for (let time = 1; time <= 3; time++) {
      const [pid = 0] = edges();
      process.kill(pid, 'SIGKILL');
      await eventually('its end', () => !isAlive(pid));
      assert.equal(await ask(), 'app');
    }
  });

  it('serves by several processes, of which each takes what comes while others are busy or gone', async () => {
    const shop = route().map((one) => ({ ...one, app: { id: 'app_shop', name: 'Shop' } }));
    await keeper.setRoutes(shop);
    await keeper.configure({ host: '127.0.0.1', port, processes: 2 });
    const [first = 0, second = 0] = edges();
    assert.ok(first > 0 && second > 0);
    for (const [one, other] of [
      [first, second],
      [second, first],
    ] as const) {
      process.kill(other, 'SIGSTOP');
      for (let time = 0; time < 3; time++) assert.equal(await ask(), 'app', `by ${String(one)}`);
      process.kill(other, 'SIGCONT');
    }
    const counted = (): number | undefined =>
      trafficByApp(keeper.traffic.all()).get('app_shop')?.counts.at(trafficAt.classes);
    await eventually('the counts of both', () => counted() === 6);
    // What goes on with one is not touched by the end of the other.
    process.kill(second, 'SIGSTOP');
    const kept = new http.Agent({ keepAlive: true, maxSockets: 1 });
    assert.equal(await ask(kept), 'app');
    const [socket] = Object.values(kept.freeSockets).flat();
    process.kill(second, 'SIGKILL');
    await eventually('its end', () => !isAlive(second));
    assert.equal(await ask(kept), 'app');
    assert.deepEqual(Object.values(kept.freeSockets).flat(), [socket]);
    kept.destroy();
    await eventually('another one', () => edges().length === 2);
    await keeper.setRoutes([]);
    for (const one of edges()) {
      process.kill(one, 'SIGSTOP');
      assert.equal(await ask(), '404');
      process.kill(one, 'SIGCONT');
    }
  });

  it('has more processes or fewer without a refused connection', async () => {
    await keeper.setRoutes(route());
    await listen();
    const answers: string[] = [];
    let isOver = false;
    const visitor = async (): Promise<void> => {
      while (!isOver) answers.push(await ask());
    };
    const visitors = [visitor(), visitor()];
    const [before] = edges();
    await keeper.configure({ host: '127.0.0.1', port, processes: 3 });
    await eventually('three others', () => edges().length === 3 && edges()[0] !== before);
    await listen();
    await eventually('one', () => edges().length === 1);
    isOver = true;
    await Promise.all(visitors);
    assert.deepEqual([...new Set(answers)], ['app']);
  });

  it('ends a process that does not obey', async () => {
    const clock = new ManualClock();
    keeper = make(clock);
    await keeper.setRoutes(route());
    await listen();
    const [pid = 0] = edges();
    process.kill(pid, 'SIGSTOP');
    // Nobody must wait for ever for what it does not say.
    const told = keeper.setRoutes([]);
    await clock.advance(10_000);
    await told;
    assert.ok(!isAlive(pid));
    await clock.advance(100);
    assert.equal(await ask(), '404');
  });

  it('leads nowhere once a place is withdrawn, in the process of then and in the next', async () => {
    await listen();
    await keeper.setRoutes(route({ workload: 'web-1', port: 1 }));
    await keeper.place('web-1', at());
    assert.equal(await ask(), 'app');
    assert.deepEqual(asked, []);
    await keeper.place('web-1', undefined);
    // It is asked for on the machine, where it is not.
    assert.equal(await ask(), '502');
    assert.equal(asked[0], 'web-1');
    const [pid = 0] = edges();
    process.kill(pid, 'SIGKILL');
    await eventually('its end', () => !isAlive(pid));
    assert.equal(await ask(), '502');
    await keeper.place('web-1', at());
    assert.equal(await ask(), 'app');
  });

  it('is taken over by another program without a refused connection or a lost request', async () => {
    await keeper.setRoutes(route());
    await listen();
    const [before] = edges();
    const other = path.join(dir, 'main.ts');
    fs.symlinkSync(ownProgram, other);
    let release: () => void = () => undefined;
    hold = new Promise((resolve) => (release = resolve));
    const heard = new Promise((resolve) => app.once('request', resolve));
    const slow = ask();
    await heard;
    hold = Promise.resolve();
    const kept = new http.Agent({ keepAlive: true, maxSockets: 4 });
    const answers: string[] = [];
    let isOver = false;
    const visitor = async (agent: http.Agent | false): Promise<void> => {
      while (!isOver) answers.push(await ask(agent));
    };
    const visitors = [visitor(false), visitor(false), visitor(kept), visitor(kept)];
    await keeper.configure({ host: '127.0.0.1', port, program: other });
    const seen = answers.length;
    await eventually('more answers', () => answers.length > seen + 40);
    isOver = true;
    await Promise.all(visitors);
    kept.destroy();
    assert.deepEqual([...new Set(answers)], ['app']);
    // Of two, the one before has something to finish.
    assert.equal(edges().length, 2);
    release();
    assert.equal(await slow, 'app');
    await eventually('the one before has ended', () => edges().length === 1);
    assert.notEqual(edges()[0], before);
  });

  it('keeps its process when another program does not serve', async () => {
    await keeper.setRoutes(route());
    await listen();
    const before = edges();
    const broken = path.join(dir, 'edge');
    fs.mkdirSync(broken);
    fs.writeFileSync(path.join(broken, 'main.js'), 'process.exit(1)');
    await keeper.configure({ host: '127.0.0.1', port, program: path.join(broken, 'main.js') });
    assert.deepEqual(edges(), before);
    assert.equal(await ask(), 'app');
  });

  it('ends what is under way when it is to go nowhere only after that is answered', async () => {
    await listen();
    await keeper.setRoutes(route());
    let release: () => void = () => undefined;
    hold = new Promise((resolve) => (release = resolve));
    const heard = new Promise((resolve) => app.once('request', resolve));
    const answer = ask();
    await heard;
    await keeper.configure(null);
    assert.equal(await ask(), 'ECONNREFUSED');
    release();
    assert.equal(await answer, 'app');
    await eventually('no process is left', () => edges().length === 0);
  });
});
