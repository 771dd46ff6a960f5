import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { cleanups } from '../support/cleanups.ts';
import { appOf, containerPlace, dockerfileOf } from '../support/container-place.ts';
import type { ContainerPlace } from '../support/container-place.ts';
import { ownDaemon } from '../support/docker-daemon.ts';
import { needs } from '../support/programs.ts';
import type { DockerDaemon } from '../support/docker-daemon.ts';
import { ConsoleClient } from '../support/console-client.ts';
import { archiveOf, Visitor } from '../support/gangway-client.ts';
import type { AppInfo, Client } from '../support/gangway-client.ts';
import { until } from '../support/gangway.ts';
import { LogTail } from '../support/log-tail.ts';
import { isAlive, runnerOf } from '../support/processes.ts';
import { heldStep, heldSteps, lettingThrough } from '../support/held-step.ts';
import { tempDir } from '../support/runner.ts';
import { secondMs, TimeMachine } from '../support/time-machine.ts';

const skip =
  needs('docker') ||
  (process.env['GANGWAY_TEST_DOCKER_SOCKET'] ? 'needs a daemon of its own' : false);

describe('containers, while Gangway or the daemon is away', { skip }, () => {
  const later = cleanups();
  const folder = tempDir();
  later(() => {
    rmSync(folder, { recursive: true });
  });
  const time = new TimeMachine(join(folder, 'time'));
  let daemon: DockerDaemon;
  let place: ContainerPlace;
  let client: Client;
  before(async () => {
    daemon = await ownDaemon();
    later(() => daemon.close());
    const { env, nodeArgs } = time.options({ GANGWAY_ANSWER_SECONDS: '60' });
    place = await containerPlace(env, daemon, nodeArgs);
    later(() => place.close());
    client = place.gangway.client;
  });

  /** What comes of a wait for the daemon, whose time the service leaps over. */
  const passing = async <T>(waiting: Promise<T>): Promise<T> => {
    const over = waiting.then(
      () => true,
      () => true,
    );
    while (!(await Promise.race([over, pause(100, false)]))) await time.jump(4 * secondMs);
    return await waiting;
  };

  const statusOf = async (id: string): Promise<string> => {
    const query = 'query($id: ID!) { app(id: $id) { status } }';
    return (await client.must<{ app: { status: string } }>(query, { id })).app.status;
  };
  const tailOf = (app: AppInfo, headers: Record<string, string> = {}): Promise<LogTail> =>
    new LogTail(`${place.gangway.url}/api/apps/${app.id}/logs?tail=5000`, {
      cookie: client.cookie,
      ...headers,
    }).opened();
  /** The numbers of its lines, in the order in which they came. */
  const numbers = (log: string): number[] =>
    [...log.matchAll(/^line (\d+)$/gm)].map(([, number]) => Number(number));

  it('serve on, and no viewer misses or repeats a line, over kill -9', async () => {
    const env = [{ key: 'COUNT_MS', value: '5' }];
    const apps = await Promise.all(
      ['One', 'Two', 'Three'].map((name) =>
        client.runningApp(name, archiveOf(appOf(name)), { env }),
      ),
    );
    const [first] = apps;
    assert.ok(first);
    const visitor = new Visitor(client, first.slug);
    const before = await Promise.all(apps.map((app) => tailOf(app)));
    await until('lines come', 20_000, () => before.every(({ log }) => numbers(log).length > 50));
    const { gangway } = place;
    await gangway.kill9();
    await until('the streams broke', 20_000, () => before.every(({ ended }) => ended));
    const containers = await place.containers();
    assert.equal(containers.filter(({ State }) => State === 'running').length, 3);
    await gangway.start();
    const later = await Promise.all(
      apps.map((app, i) => tailOf(app, { 'last-event-id': before[i]?.lastId ?? '' })),
    );
    await until('they go on', 20_000, () => later.every(({ log }) => numbers(log).length > 200));
    for (const [i, tail] of later.entries()) {
      const seen = [...numbers(before[i]?.log ?? ''), ...numbers(tail.log)];
      const from = seen[0] ?? 0;
      assert.deepEqual(
        seen,
        seen.map((_, at) => from + at),
      );
      tail.close();
    }
    await visitor.end();
    assert.deepEqual(
      (await place.containers()).map(({ Id }) => Id).sort(),
      containers.map(({ Id }) => Id).sort(),
      'none was started again',
    );
    for (const { id } of apps) assert.equal(await statusOf(id), 'active');
    // Their lines would cost all that follows.
    for (const { id } of apps) {
      await client.must('mutation($id: ID!) { deleteApp(id: $id) }', { id });
    }
  });

  it('are reached again when the runner, which has the edge, was killed', async () => {
    const { id, slug } = await client.runningApp('Edge', archiveOf(appOf('edge')));
    const runner = runnerOf(place.gangway.dataDir)?.pid ?? 0;
    await place.gangway.killRunner();
    assert.ok(!isAlive(runner));
    await until('it is reached', 20_000, async () => (await client.visit(slug)).text === 'edge');
    assert.equal(await statusOf(id), 'active');
  });

  it('go on with a deployment that kill -9 interrupted in its build', async () => {
    const app = await client.createApp('Interrupted');
    const dockerfile = appOf('built', `RUN ${heldStep}`)['Dockerfile'] ?? '';
    const files = { ...appOf('built'), Dockerfile: dockerfile };
    await client.mustUpload(app.id, archiveOf(files));
    const id = await client.redeploy(app.id);
    await until('it builds', 20_000, () => heldSteps().length > 0);
    await place.gangway.restart();
    assert.equal(await lettingThrough(client.finished(id)), 'ready');
    assert.match(
      (await client.deployment(id))?.log ?? '',
      /The service was restarted\. Going on\./,
    );
    assert.equal((await client.visit(app.slug)).text, 'built');
  });

  it('end a build that is canceled', async () => {
    const app = await client.createApp('Canceled');
    const dockerfile = dockerfileOf('RUN echo here && sleep 1000');
    await client.mustUpload(app.id, archiveOf({ Dockerfile: dockerfile }));
    const id = await client.redeploy(app.id);
    await until('it builds', 20_000, async () =>
      /^here$/m.test((await client.deployment(id))?.log ?? ''),
    );
    await client.must('mutation($id: ID!) { cancelDeployment(id: $id) }', { id });
    assert.equal(await client.finished(id), 'canceled');
    await until('nothing of it runs', 20_000, async () => {
      const running = await place.docker.listContainers();
      return running.every(({ Command }) => !Command.includes('sleep 1000'));
    });
  });

  it('come back with their daemon, and deployments wait for it', async () => {
    const { id, slug } = await client.runningApp('Daemon', archiveOf(appOf('before')));
    const shell = await ConsoleClient.open(client, `/api/apps/${id}/attach`);
    const building = await client.createApp('Building');
    const dockerfile = appOf('after', `RUN ${heldStep}`)['Dockerfile'] ?? '';
    const files = { ...appOf('after'), Dockerfile: dockerfile };
    await client.mustUpload(building.id, archiveOf(files));
    const deployment = await client.redeploy(building.id);
    await until('it builds', 20_000, () => heldSteps().length > 0);
    await daemon.stop();
    // By itself, for its container ends before the daemon, or as lost.
    await until('it is told', 20_000, () => shell.stream.ended);
    await client.mustUpload(id, archiveOf(appOf('later')));
    const waiting = await client.redeploy(id);
    await daemon.start();
    for (const one of [deployment, waiting]) {
      await lettingThrough(client.finished(one));
      const { status, log } = (await client.deployment(one)) ?? {};
      assert.equal(status, 'ready', log);
    }
    assert.equal((await client.visit(building.slug)).text, 'after');
    await until('it serves', 20_000, async () => (await client.visit(slug)).text === 'later');
    await until('all is well', 20_000, async () => (await statusOf(id)) === 'active');
    assert.equal((await shell.back()).code, 'NO_SUCH_SESSION');
    const next = await ConsoleClient.open(client, `/api/apps/${id}/attach`);
    await next.type('echo again-$((1+1))\r');
    await next.sees('again-2');
    await next.delete();
  });

  it('are taken up by a Gangway that was started before their daemon', async () => {
    const { id, slug } = await client.runningApp('Early', archiveOf(appOf('early')));
    const { gangway } = place;
    await gangway.kill9();
    await daemon.stop();
    await gangway.start();
    assert.equal((await client.ask('/api/health')).status, 200);
    const [last] = gangway.logged('runtime_chosen').slice(-1);
    assert.equal(last?.['runtime'], 'docker', 'it keeps its runtime');
    await daemon.start();
    await until('it serves', 40_000, async () => (await client.visit(slug)).text === 'early');
    await until('all is well', 20_000, async () => (await statusOf(id)) === 'active');
    await client.mustUpload(id, archiveOf(appOf('later')));
    await client.deployed(id);
    assert.equal((await client.visit(slug)).text, 'later');
  });

  it('have answers with a code while their daemon stands still, and go on afterwards', async () => {
    const { id, slug } = await client.runningApp('Still', archiveOf(appOf('still')));
    const exec = `mutation { execConsole(appId: "${id}", command: "true") { exitCode } }`;
    await daemon.whileFrozen(async () => {
      const answers = Promise.all([
        client.ask(`/api/apps/${id}/logs`),
        client.fails(exec),
        client.fails(`mutation { restartApp(id: "${id}") { id } }`),
        client.fails(`mutation { redeploy(appId: "${id}") { id } }`),
        client.fails(`{ app(id: "${id}") { status deployments { nodes { id } } } }`),
        client.fails(`{ logs(appId: "${id}") { nodes { text } } }`),
      ]);
      const [stream, ...codes] = await passing(answers);
      assert.equal(stream.status, 503);
      assert.equal((JSON.parse(stream.text) as { code: string }).code, 'AGENT_UNREACHABLE');
      const [ofExec = '', ofRestart, ofRedeploy, ...ofQueries] = codes;
      const late = [undefined, 'AGENT_UNREACHABLE', 'DEADLINE_EXCEEDED'];
      assert.ok(late.slice(1).includes(ofExec), ofExec);
      assert.ok(late.includes(ofRestart), ofRestart);
      assert.ok([...late, 'DEPLOY_IN_PROGRESS'].includes(ofRedeploy), ofRedeploy);
      // What is stored needs no daemon.
      assert.deepEqual(ofQueries, [undefined, undefined]);
    });
    await until('it goes on', 40_000, async () => (await client.fails(exec)) === undefined);
    await until('it serves', 20_000, async () => (await client.visit(slug)).text === 'still');
  });

  it('end in a failed deployment when the daemon stays away', async () => {
    const app = await client.createApp('Away');
    await client.mustUpload(app.id, archiveOf(appOf('away')));
    await daemon.stop();
    const id = await client.redeploy(app.id);
    assert.equal(await passing(client.finished(id)), 'failed');
    assert.match((await client.deployment(id))?.error ?? '', /Docker/);
    await daemon.start();
    assert.equal(await client.deployed(app.id).then(() => 'ready'), 'ready');
  });
});
