import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ServiceError } from '../../../../src/lib/errors.ts';
import type { AppFixture } from '../../../support/app-fixture.ts';
import { appFixture } from '../../../support/app-fixture.ts';
import { eventually } from '../../../support/eventually.ts';

const built = { 'package.json': '{"scripts":{"build":"x","start":"y"}}' };

describe('an app after a crash of the service', () => {
  let f: AppFixture;
  beforeEach(async () => {
    f = await appFixture();
  });
  afterEach(() => f.close());

  const redeploy = (appId: string) => f.ask(appId, { type: 'redeploy', trigger: 'api' });
  const live = (appId: string) => f.app(appId).run.live;
  const goLive = async (): Promise<string> => {
    const { id } = await f.uploaded();
    await f.until((await redeploy(id)).id, 'ready');
    await eventually('quiet', () => f.app(id).run.draining.length === 0);
    return id;
  };
  /** Nothing runs that the app does not know. */
  const nothingElseRuns = (id: string) =>
    eventually('only the live instance', () => f.driver.ids.join() === live(id)?.workloadId);

  it('unpacks anew what it was unpacking', async () => {
    const { id } = await f.uploaded();
    f.source.held = new Promise(() => undefined);
    const { id: first } = await redeploy(id);
    await f.until(first, 'building');
    f.source.held = null;
    await f.crash();
    await f.until(first, 'ready');
    assert.match(f.streams.text.get(`build:${first}`) ?? '', /restarted/);
    await nothingElseRuns(id);
  });

  it('takes up a build job that runs on', async () => {
    f.source.files = built;
    f.driver.script = (spec) => (spec.kind === 'job' ? {} : { probe: 'listening' });
    const { id } = await f.uploaded();
    const { id: first } = await redeploy(id);
    await eventually('job', () => f.driver.started.length === 1);
    await f.crash();
    f.driver.end(f.driver.ids[0] ?? '', { code: 0 });
    await f.until(first, 'ready');
    assert.equal(f.driver.started.filter(({ kind }) => kind === 'job').length, 1);
    await nothingElseRuns(id);
  });

  it('takes the exit code of a build job that ended meanwhile', async () => {
    f.source.files = built;
    f.driver.script = () => ({});
    const { id } = await f.uploaded();
    const { id: first } = await redeploy(id);
    await eventually('job', () => f.driver.started.length === 1);
    const crashed = f.crash();
    f.driver.end(f.driver.ids[0] ?? '', { code: 7 });
    await crashed;
    await f.until(first, 'failed');
    assert.match(f.deployment(first).error ?? '', /exit code 7/);
    await eventually('job gone', () => f.driver.ids.length === 0);
  });

  it('builds again, as another job, when the machine lost the first', async () => {
    f.source.files = built;
    f.driver.script = (spec) => (spec.kind === 'job' ? {} : { probe: 'listening' });
    const { id } = await f.uploaded();
    const { id: first } = await redeploy(id);
    await eventually('job', () => f.driver.started.length === 1);
    f.driver.lose();
    await f.crash();
    await eventually('second job', () => f.driver.started.length === 2);
    assert.notEqual(f.driver.started[0]?.id, f.driver.started[1]?.id);
    f.driver.end(f.driver.ids[0] ?? '', { code: 0 });
    await f.until(first, 'ready');
  });

  it('goes on waiting for an instance that was being started', async () => {
    f.driver.script = () => ({ probe: 'silent' });
    const { id } = await f.uploaded();
    const { id: first } = await redeploy(id);
    await eventually('service', () => f.driver.started.length === 1);
    await f.crash();
    f.driver.setProbe(f.driver.ids[0] ?? '', 'listening');
    await f.until(first, 'ready');
    assert.equal(f.driver.started.length, 1);
  });

  it('keeps a live app where it is, with its route, and starts nothing', async () => {
    const id = await goLive();
    const before = live(id);
    f.driver.routes = [];
    await f.crash();
    await eventually('route', () => f.driver.targets('web.test')?.length === 1);
    assert.deepEqual(live(id), before);
    assert.equal(f.driver.started.length, 1);
    assert.equal(f.app(id).status, 'active');
  });

  it('starts a live app again when the machine lost it', async () => {
    const id = await goLive();
    const before = live(id)?.workloadId;
    f.driver.lose();
    await f.crash();
    await eventually('live again', () => {
      const now = live(id);
      return now !== null && now.workloadId !== before;
    });
    await eventually('active', () => f.app(id).status === 'active');
    await nothingElseRuns(id);
  });

  it('ends an old instance that was draining', async () => {
    await f.close();
    f = await appFixture({ options: { drainMs: 3_000 } });
    const { id } = await f.uploaded();
    await f.until((await redeploy(id)).id, 'ready');
    await f.until((await redeploy(id)).id, 'ready');
    assert.equal(f.app(id).run.draining.length, 1);
    await f.crash();
    await eventually('drained', () => f.app(id).run.draining.length === 0);
    await nothingElseRuns(id);
  });

  it('removes what runs and is not journaled', async () => {
    const id = await goLive();
    const spec = f.driver.started[0];
    assert.ok(spec);
    await f.driver.start({ ...spec, id: 'dpl_stray-9' });
    await f.crash();
    await nothingElseRuns(id);
  });

  it('begins a deployment that was only queued', async () => {
    await f.close();
    f = await appFixture({ concurrency: 1 });
    const [a, b] = [await f.uploaded(), await f.uploaded()];
    f.source.held = new Promise(() => undefined);
    const first = await redeploy(a.id);
    await f.until(first.id, 'building');
    const second = await redeploy(b.id);
    f.source.held = null;
    await f.crash();
    await f.until(first.id, 'ready');
    await f.until(second.id, 'ready');
  });

  it('forgets the reservation of an upload, and removes what arrived of it', async () => {
    const { id } = await f.uploaded();
    const { dir, name } = await f.ask(id, { type: 'upload-begin', uploadId: 'u' });
    await writeFile(join(dir, name), 'archive');
    await f.crash();
    assert.deepEqual((await readdir(dir)).sort(), ['blob-1', name].sort());
    assert.equal(await f.ask(id, { type: 'upload-abort', uploadId: 'u' }), false);
    assert.deepEqual(await readdir(dir), ['blob-1']);
    const again = await f.ask(id, { type: 'upload-begin', uploadId: 'u2' });
    await writeFile(join(again.dir, again.name), 'archive');
    assert.equal(await f.ask(id, { type: 'upload-abort', uploadId: 'u' }), false);
    assert.deepEqual((await readdir(dir)).sort(), ['blob-1', again.name].sort());
  });
});

describe('an app on a server whose link is cut again and again', () => {
  const calls = ['machine', 'ensure', 'keepReleases', 'unpack', 'hasFile', 'text'];

  /** The first of each of these calls is cut, and the first after `seen` is cleared. */
  function cutting<T extends object>(of: T, seen: Set<string>): T {
    return new Proxy(of, {
      get(_of, name) {
        const value: unknown = Reflect.get(of, name);
        if (typeof value !== 'function' || typeof name !== 'string') {
          return name === 'tools' ? cutting(value as object, seen) : value;
        }
        return (...args: unknown[]): unknown => {
          const isCut = calls.includes(name) && !seen.has(name);
          seen.add(name);
          if (isCut) return Promise.reject(new ServiceError('AGENT_UNREACHABLE', 'It is away.'));
          const answer: unknown = Reflect.apply(value, of, args);
          if (name === 'app' || name === 'source') return cutting(answer as object, seen);
          if (name !== 'machine') return answer;
          return (answer as Promise<object>).then((machine) => cutting(machine, seen));
        };
      },
    });
  }

  let seen: Set<string>;
  let f: AppFixture;
  beforeEach(async () => {
    seen = new Set(calls);
    f = await appFixture({ before: (place) => cutting(place, seen) });
    f.source.files = built;
    f.driver.script = (spec) => (spec.kind === 'job' ? {} : { probe: 'listening' });
  });
  afterEach(() => f.close());

  /** A deployment whose job has ended so, and everything is cut once more. */
  const builtWith = async (code: number) => {
    const { id } = await f.uploaded();
    seen.clear();
    const { id: made } = await f.ask(id, { type: 'redeploy', trigger: 'api' });
    const isOver = (): boolean => ['ready', 'failed'].includes(f.deployment(made).status);
    await eventually('job', () => f.driver.ids.length === 1 || isOver());
    assert.equal(f.deployment(made).status, 'building', f.deployment(made).error ?? '');
    assert.deepEqual(
      calls.filter((name) => !seen.has(name)),
      [],
    );
    seen.clear();
    f.driver.end(f.driver.ids[0] ?? '', { code });
    await eventually('it is over', isOver);
    return f.deployment(made);
  };

  it('is built and goes live', async () => {
    const { status, error } = await builtWith(0);
    assert.deepEqual([status, error], ['ready', null]);
  });

  it('fails as its build does', async () => {
    const { status, error } = await builtWith(7);
    assert.deepEqual([status, error], ['failed', 'The build failed with exit code 7.']);
  });
});
