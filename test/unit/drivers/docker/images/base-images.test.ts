import assert from 'node:assert/strict';
import fs from 'node:fs';
import { afterEach, describe, it } from 'node:test';

import type Dockerode from 'dockerode';

import { BaseImages } from '../../../../../src/drivers/docker/images/base-images.ts';
import { takingsOf } from '../../../../../src/drivers/docker/images/dockerfile-bases.ts';
import { Loans } from '../../../../../src/drivers/docker/images/borrowed-images.ts';
import { Names } from '../../../../../src/drivers/docker/engine/names.ts';
import { Turns } from '../../../../../src/drivers/docker/engine/keyed-queue.ts';
import type { ImageBuild } from '../../../../../src/drivers/driver.ts';
import { ServiceError } from '../../../../../src/lib/errors.ts';
import { tempDir } from '../../../../support/runner.ts';

const never = new AbortController().signal;
const login = { host: 'registry.test', username: 'u', password: 'p' };
const base = 'registry.test/x:1';
const quiet = (): void => undefined;

const specWith = (logins: ImageBuild['logins']): ImageBuild => ({
  ...{ owner: 'app_a', name: 'n', contextDir: '/', dockerfile: { text: '' } },
  ...{ buildArgs: {}, logins },
});

/** A daemon of images' names, and what fetches them. */
function world(dir: string, triggers: string[] = []) {
  const there = new Set<string>();
  const state = { isFailing: false, beforeDiscard: () => Promise.resolve(), fetches: 0 };
  const bases = new BaseImages({
    names: new Names('0123456789abcdef'),
    loans: new Loans(dir),
    turns: new Turns(),
    find: (reference) =>
      Promise.resolve(
        there.has(reference)
          ? ({ Config: { OnBuild: triggers } } as unknown as Dockerode.ImageInspectInfo)
          : undefined,
      ),
    fetch: ({ reference, logins }) => {
      state.fetches++;
      if (logins.length === 0) throw new ServiceError('REGISTRY_REFUSED', 'It wants a login.');
      there.add(reference);
      return Promise.resolve();
    },
    discard: async (reference) => {
      await state.beforeDiscard();
      if (!state.isFailing) there.delete(reference);
      return !state.isFailing;
    },
    hasLogin: ({ logins }) => logins.length > 0,
  });
  const prepare = (
    logins: ImageBuild['logins'] = [login],
    dockerfile = `FROM ${base}`,
  ): Promise<() => Promise<void>> =>
    bases.prepare(specWith(logins), takingsOf(dockerfile, {}), quiet, never);
  return { bases, there, state, prepare };
}

describe('BaseImages', () => {
  const dirs: string[] = [];
  const dir = (): string => {
    dirs.push(tempDir());
    return dirs.at(-1) ?? '';
  };
  afterEach(() => {
    for (const one of dirs.splice(0)) fs.rmSync(one, { recursive: true });
  });

  it('begins no build without what it starts from', async () => {
    const { prepare, there } = world(dir());
    await assert.rejects(prepare([]), { code: 'REGISTRY_REFUSED' });
    const release = await prepare();
    await assert.rejects(prepare([]), { code: 'REGISTRY_REFUSED' });
    assert.ok(there.has(base));
    await release();
    assert.equal(there.size, 0);
  });

  it('fetches again what is being given back, and keeps it for who holds it then', async () => {
    const { prepare, bases, there, state } = world(dir());
    const release = await prepare();
    const gate = Promise.withResolvers<undefined>();
    state.beforeDiscard = () => gate.promise;
    const released = release();
    const again = prepare();
    gate.resolve(undefined);
    await released;
    const releaseAgain = await again;
    assert.ok(there.has(base) && bases.isLent(base));
    assert.equal(state.fetches, 2);
    await releaseAgain();
    assert.ok(there.size === 0 && !bases.isLent(base));
  });

  it('lets the next process clear away what one left, and gives it to nobody before', async () => {
    const own = dir();
    await world(own).prepare();
    const { bases, there, state, prepare } = world(own);
    there.add(base);
    state.isFailing = true;
    await bases.open();
    await assert.rejects(prepare([]), { code: 'AGENT_UNREACHABLE' });
    await assert.rejects(bases.settled([base], quiet, never), { code: 'AGENT_UNREACHABLE' });
    state.isFailing = false;
    await bases.open();
    assert.ok(there.size === 0 && !bases.isLent(base));
    assert.deepEqual(new Loans(own).left(), []);
  });

  it('lets others wait until what was fetched with a login is gone', async () => {
    const { bases, prepare, there } = world(dir());
    const lines: string[] = [];
    const say = (line: string): void => {
      lines.push(line);
    };
    const release = await prepare();
    let seen = -1;
    const settled = bases.settled(['other:1', base], say, never).then(() => {
      seen = there.size;
    });
    const given = new AbortController();
    const aborted = assert.rejects(bases.settled([base], quiet, given.signal), {
      name: 'AbortError',
    });
    given.abort();
    await aborted;
    assert.equal(seen, -1);
    await release();
    await settled;
    assert.equal(seen, 0);
    assert.deepEqual(lines, [`Waiting for a build that fetched ${base} with a login.`]);
  });

  it('knows the stages that a trigger takes from, and no id in their place', async () => {
    const dockerfile = `FROM ${base} AS build\nFROM ${base} AS cafe`;
    await world(dir(), ['COPY --from=0 / /', 'COPY --from=build / /']).prepare([login], dockerfile);
    for (const from of ['2', 'cafe'])
      await assert.rejects(
        world(dir(), [`COPY --from=${from} / /`]).prepare([login], dockerfile),
        { code: 'IMAGE_NOT_FOUND' },
        from,
      );
  });
});
