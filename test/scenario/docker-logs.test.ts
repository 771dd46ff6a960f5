/** What many viewers see of many containers, also while Gangway dies. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';
import Docker from 'dockerode';
import { removeAllOf } from '../support/container-place.ts';
import { needs } from '../support/programs.ts';
import type { DockerDaemon } from '../support/docker-daemon.ts';
import { baseImage, importImages } from '../support/docker-images.ts';
import type { AppInfo, Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { LogTail } from '../support/log-tail.ts';
import { dockerDaemon } from '../support/shared-daemons.ts';
import { socketProxy } from '../support/socket-proxy.ts';
import type { SocketProxy } from '../support/socket-proxy.ts';

const containers = 10;
const viewers = 500;
const names = Array.from({ length: containers }, (_, i) => (i === 0 ? 'web' : `s${String(i)}`));

/** Each counts without end, twenty lines at a time. */
function composeText(): string {
  const count = `i=0; while true; do i=$$((i+1)); echo "$$NAME $$i"; [ $$((i % 20)) = 0 ] && sleep 0.1; done`;
  const build = { dockerfile_inline: `FROM ${baseImage}` };
  const services = names.map((name) => {
    const command = ['sh', '-c', name === 'web' ? `httpd -p 3000 -h /tmp; ${count}` : count];
    const more = name === 'web' ? { ports: ['3000'] } : {};
    return [name, { build, command, environment: { NAME: name }, ...more }];
  });
  // JSON is YAML.
  return JSON.stringify({ services: Object.fromEntries(services) as object });
}

describe('logs of containers', { skip: needs('docker') }, () => {
  const later = cleanups();
  let daemon: DockerDaemon;
  let proxy: SocketProxy;
  let gangway: Gangway;
  let client: Client;
  let app: AppInfo;
  before(async () => {
    daemon = await dockerDaemon();
    later(() => daemon.close());
    await importImages(daemon.socket);
    proxy = await socketProxy(daemon.socket);
    later(() => proxy.close());
    gangway = await Gangway.open({
      env: {
        GANGWAY_RUNTIME: 'docker',
        GANGWAY_DOCKER_SOCKET: proxy.socket,
        GANGWAY_MAX_LOG_STREAMS_PER_USER: '1000',
      },
    });
    later(() => gangway.end());
    later(async () => {
      await gangway.stop();
      if (daemon.isShared) await removeAllOf(gangway, new Docker({ socketPath: daemon.socket }));
    });
    ({ client } = gangway);
    app = await client.createApp('Ten', { source: 'COMPOSE', compose: composeText() });
    await client.deployed(app.id);
  });

  const tailOf = (name: string, query: string, headers = {}): LogTail =>
    new LogTail(`${gangway.url}/api/apps/${app.id}/logs?container=${name}&${query}`, {
      cookie: client.cookie,
      ...headers,
    });
  const follows = (): string[] =>
    proxy.requests.filter((line) => /\/logs\?.*follow=(1|true)/.test(line));

  it('reach every viewer once, though Gangway is killed in their middle', async () => {
    const first = names.map((name) => tailOf(name, 'tail=5000'));
    const linesOf = (tail: LogTail | undefined): string[] =>
      (tail?.log ?? '').split('\n').slice(0, -1);
    const have = (tails: readonly LogTail[], count: number): boolean =>
      tails.every((tail) => linesOf(tail).length > count);
    await until('some lines of each', 60_000, () => have(first, 100));
    await gangway.kill9();
    await until('the ends', 10_000, () => first.every(({ ended }) => ended));
    await gangway.start();
    const rest = first.map(({ lastId }, i) =>
      tailOf(names[i] ?? '', 'tail=0', { 'last-event-id': lastId }),
    );
    try {
      await until('more lines of each', 90_000, () => have(rest, 600));
    } finally {
      for (const tail of rest) tail.close();
    }
    for (const [i, name] of names.entries()) {
      const seen = [...linesOf(first[i]), ...linesOf(rest[i])];
      // It may have begun before there was anybody to look.
      const from = Number(seen[0]?.split(' ')[1]);
      const all = seen.map((_line, at) => `${name} ${String(from + at)}`);
      assert.deepEqual(seen, all, `the lines of ${name}`);
    }
  });

  it('are followed once on the daemon, however many look', async () => {
    const before = follows();
    assert.ok(before.length > 0);
    const tails = Array.from({ length: viewers }, () => tailOf('web', 'tail=1'));
    try {
      await until('all of them', 60_000, () => tails.every(({ log }) => log !== ''));
      assert.deepEqual(follows(), before);
    } finally {
      for (const tail of tails) tail.close();
    }
  });
});
