import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { AppEdgePatch } from '../../../../src/actors/app/protocol.ts';
import type { RestoreRights } from '../../../../src/actors/restore/protocol.ts';
import { writeAppJson } from '../../../../src/backups/app-json.ts';
import { tarEnd, tarHeaders, type TarEntry } from '../../../../src/backups/tar/tar-header.ts';
import { defaultEdgeSettings } from '../../../../src/protocol/app-edge-settings.ts';
import { ServiceError } from '../../../../src/lib/errors.ts';
import type { RestoreRunRecord } from '../../../../src/store/records/records.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { type AppFixture, appFixture } from '../../../support/app-fixture.ts';
import { pieces } from '../../../support/database-server.ts';
import { eventually } from '../../../support/eventually.ts';

const all: RestoreRights = { configure: true, env: true, upload: true };

describe('restores of an app', () => {
  let place: AppFixture;
  let appId: string;
  beforeEach(async () => {
    place = await appFixture();
    place.source.files = { Procfile: 'web: run\n' };
    const env = [{ key: 'TONE', value: 'kind', isSecret: false, targets: [] }];
    appId = (await place.uploaded({ env })).id;
  });
  afterEach(() => place.close());

  const begin = async (tar: Uint8Array, rights: RestoreRights): Promise<string> => {
    const { run } = await place.ask(appId, { type: 'restore-begin' });
    const { root } = place.restores;
    await mkdir(root, { recursive: true });
    await writeFile(join(root, run.id), gzipSync(tar));
    const message = {
      type: 'restore-commit',
      restoreId: run.id,
      recoveryKey: null,
      rights,
    } as const;
    await place.ask(appId, message);
    return run.id;
  };
  const ended = async (restoreId: string): Promise<Readonly<RestoreRunRecord>> => {
    const find = () => place.store.get(tables.restoreRuns, restoreId);
    await eventually('the end', () => find()?.status !== 'running');
    const run = find();
    assert.ok(run);
    return run;
  };
  /** An artifact whose app.json holds what somebody wished for. */
  const forged = (change: (json: { settings: object; env: object[] }) => void): Buffer => {
    const json = JSON.parse(writeAppJson(place.app(appId), []).toString()) as {
      settings: object;
      env: object[];
    };
    change(json);
    return tarOf('app.json', Buffer.from(JSON.stringify(json)));
  };
  const env = (): Record<string, string | null> =>
    Object.fromEntries(
      place.store.list(tables.env, 'app', [appId]).map(({ key, value }) => [key, value]),
    );

  it('brings back what of a repository is watched and fetched', async () => {
    const repository = 'https://git.example/acme/shop.git';
    const git = { connectionId: null, repository, branch: 'main', path: null };
    const whole = { ...git, watchPaths: ['src'], submodules: true as const };
    appId = (await place.create({ name: 'Shop', source: 'GIT', git: whole })).id;
    const artifact = forged(() => undefined);
    await place.ask(appId, { type: 'update', patch: { git } });
    assert.deepEqual(place.app(appId).git, git);
    assert.equal((await ended(await begin(artifact, all))).status, 'success');
    assert.deepEqual(place.app(appId).git, whole);
  });

  it('let the deployment that is under way end, and hold those that are asked for', async () => {
    const held = Promise.withResolvers<undefined>();
    place.source.held = held.promise;
    const first = await place.ask(appId, { type: 'redeploy', trigger: 'api' });
    await place.until(first.id, 'building');
    const restoring = Promise.withResolvers<undefined>();
    let began = false;
    place.restores.onRestore = () => {
      began = true;
      return restoring.promise;
    };
    const restoreId = await begin(
      forged(() => undefined),
      all,
    );
    const waiting = (): boolean =>
      place.store
        .get(tables.restoreRuns, restoreId)
        ?.log.some((line) => line.startsWith('Waiting')) === true;
    await eventually('it waits', async () => {
      const { lines } = await place.ask(appId, { type: 'restore-news', restoreId, from: 0 });
      return waiting() || lines.some((line) => line.startsWith('Waiting'));
    });
    assert.equal(began, false);
    const second = await place.ask(appId, { type: 'redeploy', trigger: 'api' });
    held.resolve(undefined);
    await place.until(first.id, 'ready');
    await eventually('the restorer', () => began);
    assert.equal(place.deployment(second.id).status, 'queued');
    const uploading = place.ask(appId, { type: 'upload-begin', uploadId: 'other' });
    await assert.rejects(uploading, isRunning);
    for (const type of ['stop', 'restart', 'delete'] as const) {
      await assert.rejects(place.ask(appId, { type }), isRunning);
    }
    restoring.resolve(undefined);
    assert.equal((await ended(restoreId)).status, 'success');
    await place.until(second.id, 'ready');
  });

  it('keep the upload of an artifact for the next deployment, from those who may upload', async () => {
    const files = (): string[] => readdirSync(join(place.root, 'uploads', appId)).sort();
    const filenameOf = (): string | undefined => place.app(appId).upload?.filename;
    let given = 'back.zip';
    place.restores.onRestore = (of) =>
      of.keepUpload({ filename: given, content: pieces(Buffer.from('archive')) });
    const wish = forged(() => undefined);
    const before = filenameOf();
    const unfit: [string, RestoreRights, RegExp][] = [
      ['back.zip', { ...all, upload: false }, /The upload stays as it is: .*deploy_apps/],
      ['back.exe', all, /The upload stays as it is: The file name has to end/],
      ['ba\u0007ck.zip', all, /The upload stays as it is: .*control characters/],
    ];
    for (const [filename, rights, why] of unfit) {
      given = filename;
      const { status, log } = await ended(await begin(wish, rights));
      assert.equal(status, 'success');
      assert.match(log.join('\n'), why);
      assert.equal(filenameOf(), before);
    }
    given = 'back.zip';
    place.restores.onRestore = async (of) => {
      await of.keepUpload({ filename: given, content: pieces(Buffer.from('archive')) });
      throw new ServiceError('RESTORE_FAILED', 'It is not well.');
    };
    assert.equal((await ended(await begin(wish, all))).status, 'failed');
    assert.equal(filenameOf(), before);
    place.restores.onRestore = (of) =>
      of.keepUpload({ filename: given, content: pieces(Buffer.from('archive')) });
    assert.equal((await ended(await begin(wish, all))).status, 'success');
    const { upload } = place.app(appId);
    assert.deepEqual([upload?.filename, upload?.format, upload?.sizeBytes], ['back.zip', 'zip', 7]);
    const path = join(place.root, 'uploads', appId, upload?.blob ?? '');
    assert.equal(readFileSync(path, 'utf8'), 'archive');
    // The next upload removes what came to nothing.
    await place.upload(appId, 'next.tar.gz');
    await eventually('only the newest is left', () => files().length === 1);
  });

  it('apply app.json only as far as the rights go', async () => {
    const wish = forged(({ settings, env: variables }) => {
      Object.assign(settings, { autoDeploy: false });
      variables.push({ key: 'TONE', value: 'rude', isSecret: false, targets: ['production'] });
    });
    const none = await ended(await begin(wish, { configure: false, env: false, upload: false }));
    assert.equal(none.status, 'success');
    assert.ok(none.log.includes('The settings stay as they are: that needs configure_apps.'));
    assert.deepEqual([place.app(appId).autoDeploy, env()], [true, { TONE: 'kind' }]);
    await ended(await begin(wish, { configure: true, env: false, upload: false }));
    assert.deepEqual([place.app(appId).autoDeploy, env()], [false, { TONE: 'kind' }]);
    await ended(await begin(wish, { configure: false, env: true, upload: false }));
    assert.deepEqual(env(), { TONE: 'rude' });
  });

  it('bring back how the edge treats visitors, and leave the maintenance as it is', async () => {
    const update = (edge: AppEdgePatch) => place.ask(appId, { type: 'update', patch: { edge } });
    await update({ maintenance: true, totalSeconds: 30 });
    const artifact = forged(() => undefined);
    await update({ maintenance: false, totalSeconds: null, idleSeconds: 5 });
    await ended(await begin(artifact, { configure: true, env: false, upload: false }));
    assert.deepEqual(place.app(appId).edge, { ...defaultEdgeSettings, totalSeconds: 30 });
    await eventually('the route', () => place.driver.routes[0]?.settings?.totalSeconds === 30);
  });

  it('take nothing of a forged app.json that its rights do not reach', async () => {
    const before = place.app(appId);
    const wish = forged((json) => {
      Object.assign(json, { teamId: 'team_2', id: 'app_other', desired: 'running' });
      Object.assign(json.settings, { teamId: 'team_2', slug: 'bank', uid: 0, hookHash: 'x' });
      json.env.push(
        { key: 'STOLEN', value: '${database.db_other.url}', isSecret: false, targets: [] },
        { key: 'TONE', value: null, isSecret: true, targets: [] },
      );
    });
    const run = await ended(await begin(wish, all));
    assert.equal(run.status, 'success', run.log.join('\n'));
    assert.ok(run.log.some((line) => line.startsWith('A variable is left out')));
    assert.deepEqual(env(), { TONE: 'kind' });
    const { updatedAtMs } = place.app(appId);
    assert.deepEqual(place.app(appId), { ...before, updatedAtMs });
  });

  it('take no variable of a name that the service keeps, nor more of them than fit', async () => {
    const variable = { value: 'x', isSecret: false, targets: ['production'] };
    const names = [
      'PORT',
      'APP_DATA_DIR',
      'GANGWAY_X',
      'gangway_y',
      'A B',
      '1A',
      'A=B',
      'A\0',
      '',
      '${A}',
    ];
    const many = Array.from({ length: 500 }, (_, i) => ({ ...variable, key: `K${String(i)}` }));
    const large = { ...variable, key: 'LARGE', value: 'x'.repeat(33 * 1024) };
    for (const wished of [...names.map((key) => [{ ...variable, key }]), many, [large]]) {
      const wish = forged(({ env: variables }) =>
        variables.push({ ...variable, key: 'GOOD' }, ...wished.slice(0, 499)),
      );
      const run = await ended(await begin(wish, all));
      // One more than fits is with the one that is there.
      assert.equal(run.status, 'success');
      assert.ok(
        run.log.some((line) => line.startsWith('The variables stay as they are: ')),
        JSON.stringify(wished.slice(0, 1)),
      );
      assert.deepEqual(env(), { TONE: 'kind' });
    }
    // It is a name like any other.
    const wish = forged(({ env: variables }) => variables.push({ ...variable, key: '__proto__' }));
    await ended(await begin(wish, all));
    assert.deepEqual(Object.keys(env()), ['TONE', '__proto__']);
    assert.equal('x' in {}, false);
  });

  it('take no settings beyond their bounds', async () => {
    const { settings: own } = JSON.parse(writeAppJson(place.app(appId), []).toString()) as {
      settings: { build: object; resources: object };
    };
    const before = place.app(appId);
    for (const wished of [
      { build: { ...own.build, port: 1e9 } },
      { build: { ...own.build, dockerfile: '../../etc/passwd' } },
      { build: { ...own.build, outputDir: '/etc' } },
      { build: { ...own.build, startCommand: 'x'.repeat(5000) } },
      { build: { ...own.build, healthPath: '/a\r\nHost: other' } },
      { build: { ...own.build, nodeVersion: '$(id)' } },
      { resources: { ...own.resources, memoryMb: 2 ** 40 } },
      { resources: { ...own.resources, replicas: 1000 } },
      { resources: { ...own.resources, cpus: 1e300 } },
      { previewBranches: Array.from({ length: 51 }, (_, i) => `b${String(i)}`) },
    ]) {
      const run = await ended(
        await begin(
          forged(({ settings }) => Object.assign(settings, wished)),
          all,
        ),
      );
      assert.equal(run.status, 'success');
      assert.ok(run.log.some((line) => line.startsWith('The settings stay as they are: ')));
      assert.deepEqual(place.app(appId), before);
    }
    // What says something to apps of other sources alone says nothing to this one.
    const other = { source: 'IMAGE', image: 'evil/image', compose: 'services: {}' };
    await ended(
      await begin(
        forged(({ settings }) => Object.assign(settings, other)),
        all,
      ),
    );
    const { source, image, compose } = place.app(appId);
    assert.deepEqual([source, image, compose], ['UPLOAD', null, null]);
  });

  it('keep the settings that the app would refuse by hand, and the data', async () => {
    const wish = forged(({ settings, env: variables }) => {
      Object.assign(settings, { resources: { memoryMb: -1, cpus: null, pids: null, replicas: 1 } });
      variables.push({ key: 'PORT', value: '1', isSecret: false, targets: [] });
    });
    const run = await ended(await begin(wish, all));
    assert.equal(run.status, 'success');
    assert.ok(run.log.some((line) => line.startsWith('The settings stay as they are: ')));
    assert.ok(run.log.some((line) => line.startsWith('The variables stay as they are: ')));
    assert.deepEqual(env(), { TONE: 'kind' });
  });

  it('refuse what is no artifact of an app before anything is touched', async () => {
    const link = { name: 'volumes/data/out', type: 'link', target: '../../..' } as const;
    for (const [tar, why] of [
      [Buffer.from('PGDMP'), /ARTIFACT_UNFIT/],
      [tarOf('PG_VERSION', Buffer.from('18')), /a backup of a PostgreSQL database.*ARTIFACT_UNFIT/],
      [tarOf('readme', Buffer.from('hello')), /no backup that is known.*ARTIFACT_UNFIT/],
      [tarOf('app.json', Buffer.from('{}')), /ARTIFACT_UNFIT/],
      [tarOf('app.json', Buffer.alloc(2_000_000)), /too large.*ARTIFACT_UNFIT/],
      [Buffer.concat([headersOf(link), forged(() => undefined)]), /ARCHIVE_UNSAFE_ENTRY/],
      [tarOf('../evil', Buffer.from('x')), /ARCHIVE_UNSAFE_ENTRY/],
      [forged(() => undefined).subarray(0, 700), /ARCHIVE_CORRUPT/],
    ] as const) {
      const run = await ended(await begin(tar, all));
      assert.match(run.error ?? '', why);
      assert.equal(run.log.at(-1), 'Nothing was changed.');
    }
    assert.deepEqual(place.restores.restored, []);
  });
});

function isRunning(error: unknown): boolean {
  assert.ok(error instanceof ServiceError && error.code === 'RESTORE_RUNNING', String(error));
  return true;
}

function headersOf(entry: {
  name: string;
  type: TarEntry['type'];
  target?: string;
  size?: number;
}) {
  const { name, type, target = '', size = 0 } = entry;
  const bytes = { name: Buffer.from(name), target: Buffer.from(target) };
  return tarHeaders({ ...bytes, type, size, mode: 0o644, mtimeMs: 0 });
}

function tarOf(name: string, content: Buffer): Buffer {
  const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
  const headers = headersOf({ name, type: 'file', size: content.length });
  return Buffer.concat([headers, content, padding, tarEnd]);
}
