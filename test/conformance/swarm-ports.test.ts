/** How the ports of services on a swarm lead to their replicas. */
import assert from 'node:assert/strict';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { WorkloadSpec } from '../../src/protocol/workload.ts';
import { nodePath } from '../support/docker-images.ts';
import { containerSpec } from '../support/docker-place.ts';
import { ended, readSome, sh, textOf, until } from '../support/driver-specs.ts';
import type { SpecOverrides } from '../support/driver-specs.ts';
import { needs } from '../support/programs.ts';
import { type SwarmPlace, swarmPlace } from '../support/swarm-place.ts';

describe('the port of a service on a swarm', { skip: needs('docker') }, () => {
  let place: SwarmPlace;
  before(async () => {
    place = await swarmPlace();
    await place.driver.open();
  });
  after(() => place.close());

  const several = (overrides: SpecOverrides, replicas = 2): WorkloadSpec => {
    const spec = containerSpec({ kind: 'service', ...overrides });
    return { ...spec, resources: { ...spec.resources, replicas } };
  };

  it('leads one port to all replicas in turn, where the kernel has no balancer', async () => {
    const own = place.open({ publishing: 'host' });
    const port = await own.freePort();
    const script = `require('net').createServer((s) => s.end(process.env.HOSTNAME)).listen(${String(port)})`;
    await own.start(several({ id: 'turns-1', command: [nodePath, '-e', script], port }));
    await until('a listener', async () => (await own.probe('turns-1')) === 'listening');
    const answers = new Set<string>();
    await until('answers of both', async () => {
      answers.add(await answerOf(port));
      return answers.size === 2;
    });
    assert.ok(!answers.has(''));
    await own.remove('turns-1');
    assert.equal(await own.probe('turns-1'), 'silent');
    await own.close();
  });

  it('leads nobody to a replica that runs and does not listen yet', async () => {
    const own = place.open({ publishing: 'host' });
    const port = await own.freePort();
    // The first to make the folder listens at once, the other when it is told to.
    const script = `
      const fs = require('fs');
      const listen = () => require('net').createServer((s) => s.end(process.env.HOSTNAME)).listen(${String(port)});
      const wait = () => (fs.existsSync('/data/go') ? listen() : setTimeout(wait, 20));
      try { fs.mkdirSync('/data/first'); listen(); } catch { console.log('waits'); wait(); }
    `;
    const spec = several({ id: 'late-1', command: [nodePath, '-e', script], port });
    const volumes = [{ name: 'late', path: '/data' }];
    await own.start({
      ...spec,
      container: { ...spec.container, volumes } as WorkloadSpec['container'],
    });
    await until('one waits', async () => textOf(await readSome(own, 'late-1')).includes('waits'));
    await until('a listener', async () => (await own.probe('late-1')) === 'listening');
    const answers = new Set<string>();
    for (let asked = 0; asked < 6; asked++) answers.add(await answerOf(port));
    assert.deepEqual([answers.size, answers.has('')], [1, false], [...answers].join());
    const go = { command: ['touch', '/data/go'], env: {}, timeoutMs: 20_000, maxBytes: 100 };
    await own.exec('late-1', go, new AbortController().signal);
    await until('answers of both', async () => {
      answers.add(await answerOf(port));
      return answers.size === 2;
    });
    assert.ok(!answers.has(''));
    await own.remove('late-1');
    await own.close();
  });

  it('says that a port is taken when the swarm balances', async () => {
    const own = place.open({ publishing: 'ingress' });
    const port = await own.freePort();
    const spec = { command: sh('exec sleep 1000'), port };
    await own.start(several({ id: 'ingress-1', ...spec }));
    await own.start(several({ id: 'ingress-2', ...spec }));
    const { exit } = (await ended(own, 'ingress-2')).state;
    assert.match(exit.detail ?? '', /already in use/);
    assert.equal(await own.probe('ingress-2'), 'foreign');
    await Promise.all([own.remove('ingress-1'), own.remove('ingress-2')]);
    await own.close();
  });
});

function answerOf(port: number): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = net.connect({ host: '127.0.0.1', port });
    socket.on('data', (chunk) => {
      answer += String(chunk);
    });
    socket.once('error', () => {
      resolve('');
    });
    socket.once('close', () => {
      resolve(answer);
    });
  });
}
