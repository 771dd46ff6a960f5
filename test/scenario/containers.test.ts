import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { after, before, describe, it } from 'node:test';
import { appOf, containerPlace, dockerfileOf, serverOf } from '../support/container-place.ts';
import type { ContainerPlace } from '../support/container-place.ts';
import { needs, programPath } from '../support/programs.ts';
import { ConsoleClient } from '../support/console-client.ts';
import { archiveOf } from '../support/gangway-client.ts';
import type { Client } from '../support/gangway-client.ts';
import { until } from '../support/gangway.ts';
import { git as runGit } from '../support/git-server.ts';
import { tempDir } from '../support/runner.ts';
import { startRegistry } from '../support/registry.ts';
import type { RegistryImage } from '../support/registry.ts';

const runFile = promisify(execFile);

describe('apps in containers', { skip: needs('docker'), concurrency: 3 }, () => {
  let place: ContainerPlace;
  let client: Client;
  before(async () => {
    place = await containerPlace({ GANGWAY_HEALTH_TIMEOUT_SECONDS: '30' });
    client = place.gangway.client;
  });
  after(() => place.close());

  const failed = async (appId: string): Promise<{ error: string; log: string }> => {
    const id = await client.redeploy(appId);
    await client.finished(id);
    const { status = '', error = '', log = '' } = (await client.deployment(id)) ?? {};
    assert.equal(status, 'failed', log);
    return { error: error ?? '', log };
  };
  const change = (field: string, id: string) =>
    client.must(`mutation($id: ID!) { ${field}(id: $id) { id } }`, { id });
  const settings = (id: string, build: object) =>
    client.must(
      'mutation($id: ID!, $build: BuildConfigInput) { updateApp(id: $id, build: $build) { id } }',
      { id, build },
    );
  const containersOf = async (id: string) => {
    interface Shown {
      name: string;
      image: string | null;
      state: string;
      startedAt: string;
    }
    const query = 'query($id: ID!) { app(id: $id) { containers { name image state startedAt } } }';
    return (await client.must<{ app: { containers: Shown[] } }>(query, { id })).app.containers;
  };
  const ownedBy = async (id: string) =>
    (await place.containers()).filter(({ Labels }) => Labels['gangway.owner'] === id);
  const rollback = async (deploymentId: string): Promise<string> => {
    const { rollbackDeployment } = await client.must<{ rollbackDeployment: { id: string } }>(
      'mutation($id: ID!) { rollbackDeployment(deploymentId: $id) { id } }',
      { id: deploymentId },
    );
    await client.finished(rollbackDeployment.id);
    return rollbackDeployment.id;
  };

  it('are chosen when the daemon answers, and the server says so', async () => {
    const { servers } = await client.must<{ servers: object[] }>('{ servers { runtime } }');
    assert.deepEqual(servers, [{ runtime: 'docker' }]);
    assert.equal(place.gangway.logged('runtime_chosen')[0]?.['runtime'], 'docker');
  });

  it('are built from their Dockerfile, and keep their data over releases', async () => {
    const env = [{ key: 'GREETING', value: 'hello' }];
    const resources = { memoryMb: 128, cpus: 0.5, pids: 64 };
    const app = await client.createApp('Shop', { env, resources });
    await client.mustUpload(app.id, archiveOf(appOf('first')));
    const first = await client.deployed(app.id);
    assert.deepEqual(await client.visit(app.slug), { status: 200, text: 'first' });
    assert.equal((await client.visit(app.slug, '/visits')).text, '1');
    const seen = JSON.parse((await client.visit(app.slug, '/env')).text) as object;
    assert.deepEqual(
      { ...seen, GREETING: 'hello', PORT: '3000', APP_DATA_DIR: '/data' },
      seen,
      'its variables',
    );
    const log = (await client.deployment(first))?.log ?? '';
    assert.match(log, /Found Dockerfile\.\n[\s\S]*COPY server\.js[\s\S]*Ready\./);
    const [shown, ...more] = await containersOf(app.id);
    assert.deepEqual(more, []);
    assert.equal(shown?.name, 'app');
    assert.equal(shown.state, 'running');
    assert.match(shown.image ?? '', new RegExp(first));
    const [container] = await ownedBy(app.id);
    const { HostConfig } = await place.docker.getContainer(container?.Id ?? '').inspect();
    assert.equal(HostConfig.Memory, 128 * 2 ** 20);
    assert.equal(HostConfig.PidsLimit, 64);

    await client.mustUpload(app.id, archiveOf(appOf('second')));
    await client.deployed(app.id);
    assert.equal((await client.visit(app.slug)).text, 'second');
    assert.equal((await client.visit(app.slug, '/visits')).text, '2');
    const back = await rollback(first);
    assert.equal((await client.visit(app.slug)).text, 'first');
    assert.equal((await client.visit(app.slug, '/visits')).text, '3');
    assert.doesNotMatch(
      (await client.deployment(back))?.log ?? '',
      /COPY/,
      'it is not built again',
    );
  });

  it('read their files as whatever user their image names', async () => {
    const lines = ['WORKDIR /srv', 'COPY . .', 'RUN mkdir /data && chown 1000 /data', 'USER 1000'];
    const files = {
      Dockerfile: dockerfileOf(...lines, 'CMD ["node", "lib/server.js"]'),
      'lib/server.js': serverOf('as 1000'),
    };
    const app = await client.runningApp('User', archiveOf(files));
    assert.equal((await client.visit(app.slug)).text, 'as 1000');
    assert.equal((await client.visit(app.slug, '/visits')).text, '1');
  });

  it('are stopped, started again, and leave nothing when they are purged', async () => {
    const { id, slug } = await client.runningApp('Leaving', archiveOf(appOf('kept')));
    await client.visit(slug, '/visits');
    await change('stopApp', id);
    await until('it is gone', 30_000, async () => (await containersOf(id)).length === 0);
    await until('nobody gets through', 20_000, async () => {
      return (await client.visit(slug)).status === 503;
    });
    await change('startApp', id);
    await until('it runs', 30_000, async () => (await client.visit(slug)).status === 200);
    assert.equal((await client.visit(slug, '/visits')).text, '2');
    await client.must('mutation($id: ID!) { deleteApp(id: $id) }', { id });
    const { trash } = await client.must<{ trash: { id: string; name: string }[] }>(
      '{ trash { id name } }',
    );
    const item = trash.find(({ name }) => name === 'Leaving')?.id;
    await client.must('mutation($id: ID!) { purgeFromTrash(id: $id) }', { id: item });
    const { Volumes } = await place.docker.listVolumes();
    assert.deepEqual(
      Volumes.filter(({ Name }) => Name.includes(id)),
      [],
    );
    const tags = (await place.docker.listImages()).flatMap(({ RepoTags }) => RepoTags ?? []);
    assert.deepEqual(
      tags.filter((tag) => tag.includes(id)),
      [],
    );
  });

  it('are started again when they end, and when somebody kills them', async () => {
    const { id, slug } = await client.runningApp('Dying', archiveOf(appOf('alive')));
    const [before] = await containersOf(id);
    await client.visit(slug, '/die');
    await until('it is another run', 20_000, async () => {
      const [now] = await containersOf(id);
      return now?.state === 'running' && now.startedAt !== before?.startedAt;
    });
    await until('it serves', 20_000, async () => (await client.visit(slug)).text === 'alive');
    const [container] = await ownedBy(id);
    await place.docker.getContainer(container?.Id ?? '').kill();
    await until('another container runs', 30_000, async () => {
      const running = (await ownedBy(id)).filter(({ State }) => State === 'running');
      return running.length === 1 && (await client.visit(slug)).text === 'alive';
    });
    assert.equal((await containersOf(id))[0]?.state, 'running');
  });

  it('have consoles, which end with the container they are in', async () => {
    const { id, slug } = await client.runningApp('Console', archiveOf(appOf('talking')));
    const path = `/api/apps/${id}/attach`;
    const shell = await ConsoleClient.open(client, path, '?cols=101&rows=33');
    await shell.type('MINE=kept; echo so-$((40+2)); stty size; echo $APP_DATA_DIR\r');
    await shell.sees('so-42');
    await shell.sees('33 101');
    await shell.sees('/data');
    await shell.resize(90, 20);
    await shell.type('stty size\r');
    await shell.sees('20 90');
    shell.drop();
    await shell.type('echo unseen-$((1+1))\r');
    const back = await shell.back();
    await back.sees('unseen-2');
    await back.type('echo [$MINE]\r');
    await back.sees('[kept]');
    const asked = await ConsoleClient.ask(client, path, '?mode=attach');
    assert.equal(`${String(asked.stream.status)} ${asked.code}`, '400 BAD_USER_INPUT');
    const code = 'mutation($id: ID!) { execConsole(appId: $id, command: "exit 7") { exitCode } }';
    assert.deepEqual(await client.must(code, { id }), { execConsole: { exitCode: 7 } });

    const leaving = await ConsoleClient.open(client, path);
    await leaving.type('echo bye-$((1+1)); exit 3\r');
    await leaving.ends('exit');
    assert.match(leaving.text, /bye-2/);
    await client.mustUpload(id, archiveOf(appOf('replaced')));
    await client.deployed(id);
    await back.ends('exit');
    const dying = await ConsoleClient.open(client, path);
    await client.visit(slug, '/die');
    await dying.ends('exit');
    await until('it runs again', 30_000, async () => (await client.visit(slug)).status === 200);
    const removed = await ConsoleClient.open(client, path);
    for (const { Id } of await ownedBy(id))
      await place.docker.getContainer(Id).remove({ force: true });
    await removed.ends('exit');
    assert.equal((await removed.back()).code, 'NO_SUCH_SESSION');
  });

  it('are built without a Dockerfile: a Procfile, files, and a site that is made', async () => {
    const proc = await client.createApp('Proc');
    const files = { Procfile: 'web: node server.js', 'server.js': serverOf('proc') };
    await client.mustUpload(proc.id, archiveOf(files));
    const built = await client.deployed(proc.id);
    assert.equal((await client.visit(proc.slug)).text, 'proc');
    assert.equal((await client.visit(proc.slug, '/visits')).text, '1', 'its data is its own');
    assert.match((await client.deployment(built))?.log ?? '', /Found Procfile\.\nBuilding it in/);

    const site = { 'index.html': 'static', 'other.html': 'x', '.dockerignore': 'other.html' };
    const plain = await client.runningApp('Plain', archiveOf(site));
    assert.equal((await client.visit(plain.slug)).text, 'static');

    const buildCommand = 'mkdir site && echo "made with $SHOWN$HIDDEN" > site/index.html';
    const env = [
      { key: 'SHOWN', value: 'care', isSecret: false },
      { key: 'HIDDEN', value: 'not to be seen' },
    ];
    const build = { buildCommand, outputDir: 'site' };
    const made = await client.runningApp('Made', archiveOf({ 'a.txt': '' }), { build, env });
    assert.equal((await client.visit(made.slug)).text, 'made with care\n');
    await settings(made.id, { outputDir: 'other' });
    const { error } = await failed(made.id);
    assert.equal(error, 'The build made no folder other (outputDir).');
    assert.equal((await client.visit(made.slug)).status, 200, 'the release before serves');
  });

  it('reach each other by slug in the network of their team', async () => {
    const both = Promise.all([
      client.runningApp('One', archiveOf(appOf('one'))),
      client.runningApp('Two', archiveOf(appOf('two'))),
    ]);
    const { createTeam } = await client.must<{ createTeam: { id: string } }>(
      'mutation { createTeam(name: "Others") { id } }',
    );
    const header = { 'x-service-team': createTeam.id };
    const { createApp } = await client.must<{ createApp: { id: string; slug: string } }>(
      'mutation { createApp(input: { name: "Other", source: UPLOAD }) { id slug } }',
      {},
      header,
    );
    await client.mustUpload(createApp.id, archiveOf(appOf('other')));
    await client.deployed(createApp.id);
    const [one, two] = await both;
    const ask = (slug: string) => client.visit(one.slug, `/ask?http://${slug}:3000/`);
    assert.equal((await ask(two.slug)).text, 'two');
    assert.match((await ask(createApp.slug)).text, /ENOTFOUND|EAI_AGAIN/);
  });

  it('are built from what git pushes', { skip: needs('git') }, async () => {
    const git = { repository: 'push', branch: 'main' };
    const app = await client.createApp('Pushed', { source: 'GIT', git });
    const token = await client.token({ name: 'Push', capabilities: ['deploy_apps'] });
    const folder = tempDir();
    runGit(folder, 'init', '--quiet', '--initial-branch=main');
    for (const [name, text] of Object.entries(appOf('pushed'))) {
      writeFileSync(join(folder, name), text);
    }
    runGit(folder, 'add', '--all');
    runGit(folder, 'commit', '--quiet', '-m', 'First');
    const to = client.url.replace('://', `://me:${token}@`);
    await runFile('git', ['push', `${to}/git/${app.slug}.git`, 'main'], { cwd: folder });
    assert.equal((await client.visit(app.slug)).text, 'pushed');
    rmSync(folder, { recursive: true });
  });

  it('fail with a sentence, while the release before serves', async () => {
    const { id, slug } = await client.runningApp('Careful', archiveOf(appOf('good')));
    // prettier-ignore
    const trials: [string, string, RegExp, RegExp][] = [
      ['a step that fails', dockerfileOf('RUN echo why; exit 7'), /7/, /^why$/m],
      ['no such base', 'FROM gangway-none.invalid/none:1\n', /none/, /none/],
      ['what is no Dockerfile', 'HELLO\n', /HELLO/i, /HELLO/i],
      ['an end at once', dockerfileOf('CMD ["false"]'), /exited with code 1/, /exited with code 1/],
      ['no such program', dockerfileOf('CMD ["/none"]'), /\/none/, /\/none/],
      ['never healthy', dockerfileOf('CMD ["sleep", "1000"]'), /not healthy within 30 s: nothing listened/, /Failed: /],
    ];
    for (const [what, dockerfile, error, log] of trials) {
      await client.mustUpload(id, archiveOf({ Dockerfile: dockerfile }));
      const outcome = await failed(id);
      assert.match(outcome.error, error, what);
      assert.match(outcome.log, log, what);
      assert.ok(!outcome.error.includes(place.gangway.dataDir), what);
      assert.equal((await client.visit(slug)).text, 'good', what);
    }
    await settings(id, { dockerfile: 'none/Dockerfile' });
    assert.equal((await failed(id)).error, 'There is no file none/Dockerfile (dockerfile).');
  });

  it('run the image of a registry, with the login of their team', async () => {
    const login = { username: 'ada', password: 'secret-of-ada' };
    const image = (text: string): RegistryImage => ({
      repository: 'team/web',
      tag: '1',
      files: {
        'bin/busybox': readFileSync(programPath('busybox') ?? '/bin/busybox'),
        'w/index.html': Buffer.from(text),
      },
      config: {
        Cmd: ['/bin/busybox', 'sh', '-c', 'exec /bin/busybox httpd -f -p $PORT -h /w'],
        ExposedPorts: { '8000/tcp': {} },
      },
      login,
    });
    const registry = await startRegistry(image('v1'));
    const reference = `${registry.host}/team/web:1`;
    const app = await client.createApp('Image', { source: 'IMAGE', image: reference });
    const refused = await failed(app.id);
    assert.match(refused.error, new RegExp(registry.host));
    const add = (password: string) =>
      client.must<{ addRegistry: { id: string } }>(
        `mutation($host: String!, $password: String!) {
          addRegistry(name: "Ours", host: $host, username: "ada", password: $password) { id }
        }`,
        { host: registry.host, password },
      );
    const { addRegistry } = await add('wrong-one');
    const wrong = await failed(app.id);
    assert.match(wrong.error, /refused|login|password/i);
    await client.must('mutation($id: ID!) { removeRegistry(id: $id) }', { id: addRegistry.id });
    await add(login.password);
    const first = await client.deployed(app.id);
    assert.equal((await client.visit(app.slug)).text, 'v1');
    const [shown] = await containersOf(app.id);
    assert.equal(shown?.image, reference);

    // What the tag names now is another one; a restart and a rollback run what was deployed.
    registry.serve(image('v2'));
    await change('restartApp', app.id);
    await until('it is another', 30_000, async () => {
      const [now] = await containersOf(app.id);
      return now?.state === 'running' && now.startedAt !== shown.startedAt;
    });
    await until('it serves', 30_000, async () => (await client.visit(app.slug)).status === 200);
    assert.equal((await client.visit(app.slug)).text, 'v1');
    // Somebody removes it by hand: the very same is pulled again.
    await change('stopApp', app.id);
    await until('it is gone', 30_000, async () => (await containersOf(app.id)).length === 0);
    const tags = (await place.docker.listImages()).flatMap(({ RepoTags }) => RepoTags ?? []);
    for (const tag of tags.filter((one) => one.includes(first))) {
      await place.docker.getImage(tag).remove({ force: true });
    }
    await change('startApp', app.id);
    await until('it serves', 30_000, async () => (await client.visit(app.slug)).text === 'v1');
    const second = await client.deployed(app.id);
    assert.equal((await client.visit(app.slug)).text, 'v2');
    await rollback(first);
    assert.equal((await client.visit(app.slug)).text, 'v1');

    const tag = `${registry.host}/team/web:9`;
    await client.must(
      'mutation($id: ID!, $image: String) { updateApp(id: $id, image: $image) { id } }',
      { id: app.id, image: tag },
    );
    assert.match((await failed(app.id)).error, /team\/web:9/);
    await registry.close();
    assert.ok((await failed(app.id)).error.includes(registry.host));
    const told = JSON.stringify([refused, wrong, await client.deployment(second)]);
    assert.doesNotMatch(told, /secret-of-ada|wrong-one/);
    const { activity } = await client.must<{ activity: object }>(
      '{ activity { nodes { action target details } } }',
    );
    assert.match(JSON.stringify(activity), /addRegistry/);
    assert.doesNotMatch(JSON.stringify(activity), /secret-of-ada|wrong-one/);
    assert.ok(!place.gangway.output.includes(login.password));
  });
});
