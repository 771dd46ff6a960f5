import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../support/eventually.ts';
import { PlatformPlace, variable } from '../support/platform-place.ts';

describe('deploys of real apps', () => {
  const place = new PlatformPlace();
  before(() => place.open());
  after(() => place.close());

  it('installs, starts and serves an Express app, with its variables and its data', async () => {
    const env = [variable('GREETING', 'hello from a variable')];
    const build = { healthPath: '/healthz' };
    const { id, slug } = await place.create('express', { name: 'Shop', env, build });
    await place.deploy(id);
    assert.deepEqual(await place.get(slug), { status: 200, body: 'hello from a variable' });
    assert.equal((await place.get(slug, '/visits', 'POST')).body, '1');
    const seen = JSON.parse((await place.get(slug, '/env')).body) as Record<string, string>;
    const own = ['APP_DATA_DIR', 'GREETING', 'HOME', 'LANG', 'NODE_ENV', 'PATH', 'PORT'];
    for (const key of own) assert.ok(seen[key] !== undefined, key);
    assert.deepEqual(
      Object.keys(seen).filter((key) => /proxy|registry|token|key$/i.test(key)),
      [],
    );
    await place.deploy(id);
    assert.equal((await place.get(slug, '/visits', 'POST')).body, '2');
    await eventually('the log', () => /listening on \d+/.test(place.log(`app:${id}`)));
  });

  it('builds a Vite site and serves what it made', async () => {
    const { id, slug } = await place.create('vite-static', { name: 'Site' });
    const { plan, id: deploymentId } = await place.deploy(id);
    assert.deepEqual(plan, { kind: 'static', startCommand: null, staticDir: 'dist' });
    const page = await place.get(slug);
    assert.equal(page.status, 200);
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(page.body)?.[1] ?? '';
    assert.match((await place.get(slug, script)).body, /built in/);
    const log = place.log(`build:${deploymentId}`);
    for (const line of ['Unpacking app.tgz', '$ npm ci', '$ npm run build', 'built in', 'Ready.']) {
      assert.ok(log.includes(line), line);
    }
  });

  it('loses no request of a Procfile app over redeploys and a restart', async () => {
    const { id, slug } = await place.create('procfile', { name: 'Proc' });
    await place.deploy(id);
    const answers = new Set<string>();
    const failures: object[] = [];
    const leaving = new AbortController();
    const visitor = (async () => {
      for (const { signal } = leaving; !hasLeft(signal);) {
        const answer = await place.get(slug);
        if (answer.status === 200) answers.add(answer.body);
        else failures.push(answer);
        // Without it the visitor takes a core from what is tested.
        await pause(5);
      }
    })();
    await place.deploy(id);
    await place.deploy(id);
    const live = place.app(id).run.live?.workloadId;
    await place.ask(id, { type: 'restart' });
    await eventually('restarted', () => place.app(id).run.live?.workloadId !== live);
    await eventually('drained', () => place.app(id).run.draining.length === 0);
    leaving.abort();
    await visitor;
    assert.deepEqual(failures, []);
    assert.ok(answers.size >= 3, `${String(answers.size)} instances answered`);
  });

  it('brings an app back that ends by itself, and lets go of one that was stopped', async () => {
    const { id, slug } = await place.create('procfile', { name: 'Fragile' });
    await place.deploy(id);
    const { body } = await place.get(slug);
    await place.get(slug, '/exit');
    await eventually('another one answers', async () => {
      const answer = await place.get(slug);
      return answer.status === 200 && answer.body !== body;
    });
    await eventually('active', () => place.app(id).status === 'active');
    await place.ask(id, { type: 'stop' });
    await eventually('drained', () => place.app(id).run.draining.length === 0);
    assert.equal((await place.get(slug)).status, 503);
    assert.equal((await place.get('nobody')).status, 404);
    await place.ask(id, { type: 'start' });
    await eventually('active', () => place.app(id).status === 'active');
    assert.equal((await place.get(slug)).status, 200);
  });

  it('says why a deployment failed, and leaves what runs alone', async () => {
    const { id, slug } = await place.create('procfile', { name: 'Broken' });
    await place.deploy(id);
    const tries: [Record<string, string>, RegExp][] = [
      [
        { 'package.json': '{"scripts":{"build":"exit 3","start":"x"}}' },
        /The build failed: npm run build ended with exit code 3\.\n/,
      ],
      [{ Procfile: 'web: exit 5' }, /exited with code 5/],
      [{ 'readme.md': 'nothing' }, /Looked for/],
    ];
    for (const [files, reason] of tries) {
      await place.upload(id, files);
      await assert.rejects(place.deploy(id), reason);
      assert.equal((await place.get(slug)).status, 200);
      assert.equal(place.app(id).status, 'active');
    }
  });

  it('goes on after a crash of the service while it builds, with the app up all the time', async () => {
    const build = { buildCommand: 'sh build.sh' };
    const files = (says: string, script: string): Record<string, string> => ({
      'build.sh': script,
      Procfile: `web: node -e "require('http').createServer((q,s)=>s.end('${says}')).listen(process.env.PORT)"`,
    });
    const { id, slug } = await place.create(files('old', 'true'), { name: 'Steady', build });
    await place.deploy(id);
    const wait = 'until [ -e "$HOME/gate" ]; do sleep 0.05; done';
    await place.upload(id, files('new', `${wait}; echo done building`));
    const { id: second } = await place.ask(id, { type: 'redeploy', trigger: 'api' });
    await eventually('the job runs', () => place.deployment(second).buildJob !== null);
    await place.crash();
    assert.equal((await place.get(slug)).body, 'old');
    writeFileSync(join(place.dataDir, 'apps', id, 'home', 'gate'), '');
    await place.finished(second);
    assert.equal(place.deployment(second).error, null);
    assert.equal((await place.get(slug)).body, 'new');
    const log = place.log(`build:${second}`);
    assert.equal(log.match(/^done building$/gm)?.length, 1, log);
  });
});

function hasLeft(signal: AbortSignal): boolean {
  return signal.aborted;
}
