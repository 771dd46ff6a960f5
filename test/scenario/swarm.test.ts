import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';

import { appOf, containerPlace } from '../support/container-place.ts';
import type { ContainerPlace } from '../support/container-place.ts';
import { ownDaemon } from '../support/docker-daemon.ts';
import { needs } from '../support/programs.ts';
import type { DockerDaemon } from '../support/docker-daemon.ts';
import { ConsoleClient } from '../support/console-client.ts';
import { archiveOf, Visitor } from '../support/gangway-client.ts';
import type { Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { LogTail } from '../support/log-tail.ts';
import { marked, running as runningNow } from '../support/driver-specs.ts';
import { dockerDaemon } from '../support/shared-daemons.ts';
import { beSwarm } from '../support/swarm.ts';

const skip =
  needs('docker') ||
  (process.env['GANGWAY_TEST_DOCKER_SOCKET'] ? 'needs a daemon of its own' : false);

describe('apps on a swarm', { skip }, () => {
  // The daemon, ended last, takes all of it along.
  const later = cleanups();
  let daemon: DockerDaemon;
  let place: ContainerPlace;
  let client: Client;
  before(async () => {
    daemon = await ownDaemon();
    later(() => daemon.close());
    await beSwarm(daemon.socket);
    const env = { GANGWAY_RUNTIME: 'swarm', GANGWAY_HEALTH_TIMEOUT_SECONDS: '30' };
    place = await containerPlace(env, daemon);
    later(() => place.gangway.end());
    client = place.gangway.client;
  });

  it('serve from three replicas, with one log, and go on over kill -9', async () => {
    const app = await client.runningApp('Three', archiveOf(appOf('three')), {
      resources: { replicas: 3 },
      env: [{ key: 'COUNT_MS', value: '20' }],
    });
    await until('all three run', 30_000, async () => {
      const containers = await place.containers();
      return containers.filter(({ State }) => State === 'running').length === 3;
    });
    assert.equal((await client.visit(app.slug)).text, 'three');
    const tailOf = (headers: Record<string, string> = {}): Promise<LogTail> =>
      new LogTail(`${place.gangway.url}/api/apps/${app.id}/logs?tail=5000`, {
        cookie: client.cookie,
        ...headers,
      }).opened();
    const numbers = (log: string): number[] =>
      [...log.matchAll(/^line (\d+)$/gm)].map(([, number]) => Number(number));
    const before = await tailOf();
    await until('lines come', 20_000, () => numbers(before.log).length > 100);
    const shell = await ConsoleClient.open(client, `/api/apps/${app.id}/attach`);
    await shell.type(marked('trap "" HUP TERM; sleep 8401\r'));
    const isTyped = (): boolean => runningNow('sleep 8401').length > 0;
    await until('what was typed runs', 10_000, isTyped);
    await place.gangway.kill9();
    await until('the stream broke', 20_000, () => before.ended);
    assert.equal((await client.visit(app.slug)).text, 'three', 'the edge and the tasks live on');
    await place.gangway.start();
    await until('what ran in the console is gone', 20_000, () => !isTyped());
    const later = await tailOf({ 'last-event-id': before.lastId });
    // Each of the three counts: every number comes three times, and of none of them a fourth time.
    const counts = (): number[] => {
      const seen = [...numbers(before.log), ...numbers(later.log)];
      const lowest = Math.min(...seen) + 20;
      return Array.from(
        { length: 60 },
        (_, at) => seen.filter((one) => one === lowest + at).length,
      );
    };
    const isBehind = (): boolean => numbers(later.log).length > 300;
    await until('it goes on', 40_000, () => isBehind() && counts().every((count) => count >= 3));
    later.close();
    assert.ok(
      counts().every((count) => count === 3),
      counts().join(),
    );
  });

  it('are replaced by a release without a gap, and refuse replicas beyond 50', async () => {
    const { id, slug } = await client.runningApp('Again', archiveOf(appOf('first')));
    const path = `/api/apps/${id}/attach`;
    const shell = await ConsoleClient.open(client, path, '?cols=101&rows=33');
    await shell.type('MINE=kept; stty size\r');
    await shell.sees('33 101');
    await shell.resize(90, 20);
    shell.drop();
    await shell.type('stty size\r');
    const back = await shell.back();
    await back.sees('20 90');
    await back.type('echo "[$MINE]"\r');
    await back.sees('[kept]');
    const visitor = new Visitor(client, slug);
    await client.mustUpload(id, archiveOf(appOf('second')));
    await client.deployed(id);
    await until('the second', 30_000, async () => (await client.visit(slug)).text === 'second');
    await visitor.end();
    await back.ends('exit');
    const change =
      'mutation($id: ID!, $n: Int!) { updateApp(id: $id, resources: { replicas: $n }) { id } }';
    const { errors } = await client.graphql(change, { id, n: 51 });
    assert.match(JSON.stringify(errors), /replicas/);
  });

  it('are on one server, which is still told of while the daemon is away', async () => {
    const nodes = (await place.docker.listNodes()) as { Description: { Hostname: string } }[];
    const all = '{ servers { id name runtime connected draining version lastSeenAt } }';
    const ask = async (): Promise<Server[]> =>
      (await client.must<{ servers: Server[] }>(all)).servers;
    await until('it is seen', 30_000, async () => (await ask())[0]?.connected === true);
    const found = await ask();
    const { version, lastSeenAt } = found[0] ?? { version: null, lastSeenAt: null };
    const name = nodes[0]?.Description.Hostname;
    const server = { id: 'srv_local', name, runtime: 'swarm', draining: false, version };
    assert.deepEqual(found, [{ ...server, connected: true, lastSeenAt }]);
    assert.match(version ?? '', /^\d+\.\d+/);
    assert.ok(Date.parse(lastSeenAt ?? '') > Date.now() - 600_000);
    await daemon.stop();
    await until('it is lost', 30_000, async () => (await ask())[0]?.connected === false);
    await place.gangway.kill9();
    await place.gangway.start();
    const [lost] = await ask();
    assert.deepEqual([lost?.name, lost?.version, lost?.connected], [name, version, false]);
    await daemon.start();
    await until('it is back', 60_000, async () => (await ask())[0]?.connected === true);
  });
});

interface Server {
  id: string;
  name: string;
  runtime: string;
  connected: boolean;
  draining: boolean;
  version: string | null;
  lastSeenAt: string | null;
}

describe('a daemon without a swarm', { skip }, () => {
  it('is refused at the start, by the name of the option', async () => {
    const daemon = await dockerDaemon();
    const gangway = await Gangway.create();
    try {
      const env = { GANGWAY_RUNTIME: 'swarm', GANGWAY_DOCKER_SOCKET: daemon.socket };
      const { code, text } = await gangway.run(['serve'], env);
      assert.notEqual(code, 0);
      assert.match(text, /GANGWAY_RUNTIME.*docker swarm init/);
    } finally {
      await gangway.end();
      await daemon.close();
    }
  });
});
