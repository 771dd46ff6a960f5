/** A compose file from its text to its containers, on a real daemon. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';
import Docker from 'dockerode';
import { removeAllOf } from '../support/container-place.ts';
import { needs } from '../support/programs.ts';
import type { DockerDaemon } from '../support/docker-daemon.ts';
import { importImages, nodeImage } from '../support/docker-images.ts';
import { ConsoleClient } from '../support/console-client.ts';
import type { AppInfo, Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { dockerDaemon } from '../support/shared-daemons.ts';

const server = (body: string): string =>
  `require('http').createServer(async (q, r) => { ${body} }).listen(3000, () => console.log('up'))`;
const site = server(`
  if (q.url === '/count') return r.end(await (await fetch('http://counter:3000/')).text());
  r.end(process.env.GREETING + ' ' + process.env.APP_DATA_DIR);`);
const counter = server(`
  if (q.url === '/health') return r.end();
  const fs = require('fs'), file = '/state/count';
  const count = Number(fs.existsSync(file) ? fs.readFileSync(file) : 0) + 1;
  fs.writeFileSync(file, String(count));
  r.end(String(count));`);

/** Built here, for no registry is reached. */
function composeOf(greeting: string): string {
  const build = `{ dockerfile_inline: "FROM ${nodeImage}" }`;
  return `
x-base: &base { build: ${build} }
services:
  web:
    <<: *base
    command: ${JSON.stringify(['node', '-e', site])}
    ports: ["3000"]
    environment: { GREETING: "${greeting}" }
    depends_on:
      counter: { condition: service_healthy }
      once: { condition: service_completed_successfully }
  counter:
    <<: *base
    command: ${JSON.stringify(['node', '-e', counter])}
    volumes: [state:/state]
    healthcheck: { test: [CMD-SHELL, "wget -q -O - http://127.0.0.1:3000/health"], interval: 300ms, retries: 100 }
    mem_limit: 256m
  once: { <<: *base, command: "echo migrated", restart: "no" }
  term: { <<: *base, command: sh, tty: true, stop_signal: SIGHUP }
volumes: { state: }
`;
}

describe('an app of a compose file on Docker', { skip: needs('docker') }, () => {
  const later = cleanups();
  let daemon: DockerDaemon;
  let gangway: Gangway;
  let client: Client;
  let app: AppInfo;
  before(async () => {
    daemon = await dockerDaemon();
    later(() => daemon.close());
    await importImages(daemon.socket);
    gangway = await Gangway.open({
      env: { GANGWAY_RUNTIME: 'docker', GANGWAY_DOCKER_SOCKET: daemon.socket },
    });
    later(() => gangway.end());
    later(async () => {
      await gangway.stop();
      if (daemon.isShared) await removeAllOf(gangway, new Docker({ socketPath: daemon.socket }));
    });
    ({ client } = gangway);
    app = await client.createApp('Stack', {
      source: 'COMPOSE',
      compose: composeOf('${HELLO:-hello}'),
    });
  });

  const get = async (path: string): Promise<string> => (await client.visit(app.slug, path)).text;
  const linesOf = async (container?: string): Promise<string[]> => {
    const { logs } = await client.must<{ logs: { nodes: { text: string }[] } }>(
      'query($appId: ID!, $container: String) { logs(appId: $appId, container: $container) { nodes { text } } }',
      { appId: app.id, container },
    );
    return logs.nodes.map(({ text }) => text);
  };

  it('runs its services, which find each other, behind one address', async () => {
    await client.deployed(app.id);
    assert.equal(await get('/'), 'hello /data');
    assert.equal(await get('/count'), '1');
    assert.equal(await get('/count'), '2');
    const { app: shown } = await client.must<{
      app: { status: string; containers: { name: string }[] };
    }>('query($id: ID!) { app(id: $id) { status containers { name image state } } }', {
      id: app.id,
    });
    assert.equal(shown.status, 'active');
    assert.deepEqual(
      shown.containers.map(({ name }) => name),
      ['web', 'counter', 'once', 'term'],
    );
  });

  it('has a log for each of them', async () => {
    const [once, ...others] = ['once', 'web', 'counter'];
    await until('their lines', 30_000, async () => {
      if (!(await linesOf(once)).includes('migrated')) return false;
      return (await Promise.all(others.map(linesOf))).every(({ length }) => length > 0);
    });
    assert.deepEqual(await linesOf(), ['up']);
    assert.deepEqual(await linesOf('web'), ['up']);
    assert.deepEqual(await linesOf('counter'), ['up']);
    const nope = 'query($id: ID!) { logs(appId: $id, container: "nope") { nodes { text } } }';
    assert.equal(await client.fails(nope, { id: app.id }), 'NO_SUCH_CONTAINER');
  });

  it('opens no port of the host, and gives no privileges', async () => {
    const docker = new Docker({ socketPath: daemon.socket });
    const containers = await docker.listContainers({
      all: true,
      filters: { label: [`gangway.owner=${app.id}`] },
    });
    assert.equal(containers.length, 4);
    for (const { Id: id } of containers) {
      const { HostConfig: host, State: state } = await docker.getContainer(id).inspect();
      assert.equal(host.Privileged, false);
      assert.deepEqual(host.Binds ?? [], []);
      assert.deepEqual(host.PortBindings ?? {}, {});
      assert.ok(state.Status === 'running' || state.ExitCode === 0);
    }
  });

  it('has a console in the service that is named', async () => {
    const path = `/api/apps/${app.id}/attach`;
    const main = await ConsoleClient.open(client, path);
    await main.type('echo [$GREETING]\r');
    await main.sees('[hello]');
    const counting = await ConsoleClient.open(client, path, '?container=counter');
    await counting.type('echo at-$(cat /state/count)\r');
    await counting.sees('at-2');
    await main.delete();
    await counting.delete();
    const none = await ConsoleClient.ask(client, path, '?container=nope');
    assert.equal(`${String(none.stream.status)} ${none.code}`, '404 NO_SUCH_CONTAINER');
    const ended = await ConsoleClient.ask(client, path, '?container=once');
    assert.equal(`${String(ended.stream.status)} ${ended.code}`, '409 NOT_RUNNING');
  });

  it('attaches to a program that has a terminal, and leaves it running', async () => {
    const path = `/api/apps/${app.id}/attach`;
    const query = '?container=term&mode=attach&cols=90&rows=20';
    const first = await ConsoleClient.open(client, path, query);
    await first.type('kept=yes; stty size\r');
    await first.sees('20 90');
    assert.equal((await first.delete()).status, 204);
    await first.ends('exit');
    const second = await ConsoleClient.open(client, path, query);
    await second.type('echo "[$kept]"\r');
    await second.sees('[yes]');
    await second.delete();
    await until('its log', 10_000, async () => (await linesOf('term')).includes('[yes]'));
    const without = await ConsoleClient.ask(client, path, '?container=web&mode=attach');
    assert.equal(`${String(without.stream.status)} ${without.code}`, '400 BAD_USER_INPUT');
  });

  it('lives on when Gangway is killed, and is taken up again', async () => {
    const shell = await ConsoleClient.open(client, `/api/apps/${app.id}/attach`);
    await shell.type('trap "" HUP TERM; sleep 8301\r');
    const docker = new Docker({ socketPath: daemon.socket });
    const filters = { label: [`gangway.owner=${app.id}`] };
    const runs = async (): Promise<boolean> => {
      const all = await docker.listContainers({ filters });
      const tops = await Promise.all(all.map(({ Id: id }) => docker.getContainer(id).top()));
      return JSON.stringify(tops).includes('sleep 8301');
    };
    await until('what was typed runs', 10_000, runs);
    await gangway.restart();
    await until('what ran in the console is gone', 20_000, async () => !(await runs()));
    assert.equal((await shell.back()).code, 'NO_SUCH_SESSION');
    await until('it is well', 20_000, async () => (await get('/count')) === '3');
    assert.deepEqual(await linesOf('counter'), ['up']);
  });

  it('keeps its volumes over a deployment, and goes back when one fails', async () => {
    const update =
      'mutation($id: ID!, $compose: String) { updateApp(id: $id, compose: $compose) { id } }';
    await client.must(update, { id: app.id, compose: composeOf('again') });
    await client.deployed(app.id);
    assert.equal(await get('/'), 'again /data');
    assert.equal(await get('/count'), '4');
    const broken = composeOf('broken').replace('echo migrated', 'false');
    await client.must(update, { id: app.id, compose: broken });
    const failed = await client.redeploy(app.id);
    assert.equal(await client.finished(failed), 'failed');
    const deployment = await client.deployment(failed);
    assert.match(deployment?.error ?? '', /^once: The app exited with code 1/);
    await until('the release before', 30_000, async () => (await get('/')) === 'again /data');
  });

  it('refuses what asks for the host', async () => {
    const evil = composeOf('x').replace('mem_limit', 'privileged: true\n    mem_limit');
    const update =
      'mutation($id: ID!, $compose: String) { updateApp(id: $id, compose: $compose) { id } }';
    const { errors } = await client.graphql(update, { id: app.id, compose: evil });
    assert.equal(errors[0]?.extensions.code, 'BAD_USER_INPUT');
    assert.match(errors[0].message, /services\.counter\.privileged is not allowed/);
  });

  it('runs single commands in the service that is named', async () => {
    const exec = `mutation($appId: ID!, $container: String) {
      execConsole(appId: $appId, command: "cat /state/count; exit 3", container: $container) { output exitCode }
    }`;
    const { execConsole: found } = await client.must<{ execConsole: object }>(exec, {
      appId: app.id,
      container: 'counter',
    });
    assert.deepEqual(found, { output: '4', exitCode: 3 });
  });

  it('leaves nothing of itself when it is purged', async () => {
    await client.must('mutation($id: ID!) { deleteApp(id: $id) }', { id: app.id });
    const { trash } = await client.must<{ trash: { id: string }[] }>('{ trash { id } }');
    await client.must('mutation($id: ID!) { purgeFromTrash(id: $id) }', { id: trash[0]?.id });
    const docker = new Docker({ socketPath: daemon.socket });
    const filters = { label: [`gangway.owner=${app.id}`] };
    assert.deepEqual(await docker.listContainers({ all: true, filters }), []);
    assert.deepEqual((await docker.listVolumes({ filters })).Volumes, []);
  });
});
