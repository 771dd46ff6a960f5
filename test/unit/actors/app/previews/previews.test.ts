import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { wakePreviews } from '../../../../../src/actors/app/previews/wake.ts';
import type { AppProtocol } from '../../../../../src/actors/app/protocol.ts';
import type { FetchRequest } from '../../../../../src/git/fetching/fetch.ts';
import { newId } from '../../../../../src/lib/ids.ts';
import type {
  AppRecord,
  GitDeliveryRecord,
  PreviewRecord,
} from '../../../../../src/store/records/records.ts';
import { put } from '../../../../../src/store/records/table.ts';
import { tables } from '../../../../../src/store/records/tables.ts';
import { type AppFixture, appFixture } from '../../../../support/app-fixture.ts';
import { eventually, found } from '../../../../support/eventually.ts';

const sha = (commit: number): string => commit.toString(16).padStart(40, '0');
const git = { connectionId: null, repository: 'https://git.example.com/acme/shop', path: null };
const bothTargets = ['production', 'preview'] as const;

interface Push {
  branch?: string;
  before?: number;
  after?: number;
  message?: string;
  kind?: 'branch' | 'tag';
  pusher?: string;
  unwatched?: boolean;
}

describe('previews of an app', () => {
  let f: AppFixture;
  let fetched: Pick<FetchRequest, 'sha' | 'branch'>[];
  let trusted: (pusher: string | null) => Promise<boolean>;

  beforeEach(async () => {
    fetched = [];
    trusted = () => Promise.resolve(true);
    f = await appFixture({
      mayPush: ({ pusher }) => trusted(pusher),
      fetch: async ({ sha: wanted, branch, found }) => {
        fetched.push({ sha: wanted, branch });
        const commit = { sha: wanted ?? sha(999), author: '', message: 'm' };
        await found(commit);
        return commit;
      },
    });
  });
  afterEach(() => f.close());

  const appOf = async (previewBranches = ['feat/*'], name = 'Web'): Promise<AppRecord> => {
    const { id } = await f.create({ name, source: 'GIT', git: { ...git, branch: 'main' } });
    return f.ask(id, { type: 'update', patch: { previewBranches } });
  };
  let deliveries = 0;
  const push = async (appId: string, given: Push = {}): Promise<string> => {
    const { branch = 'feat/a', before = 0, after = 1, message = 'm', kind = 'branch' } = given;
    const delivery: GitDeliveryRecord = {
      ...{ id: newId('dlv', Date.now() + (deliveries += 1)), connectionId: 'gc_1' },
      ...{ teamId: 'team_1', appId, event: 'push', deliveryId: null },
      ...{ refKind: kind, refName: branch },
      before: before === 0 ? null : sha(before),
      commitSha: after === 0 ? null : sha(after),
      ...{ commitMessage: message, committedAtMs: after * 1000, pusher: given.pusher ?? 'ada' },
      ...(given.unwatched === true && { isUnwatched: true as const }),
      ...{ outcome: 'received', receivedAtMs: Date.now(), deploymentId: null },
    };
    const judged = await f.ask(appId, { type: 'git-push', delivery, byHand: false });
    // As the connection does.
    f.store.write([put(tables.gitDeliveries, judged)]);
    return judged.outcome;
  };
  const previewsOf = (appId: string): Readonly<PreviewRecord>[] =>
    f.store.list(tables.previews, 'app', [appId], { limit: Infinity });
  const previewOf = (appId: string, branch = 'feat/a'): Promise<Readonly<PreviewRecord>> =>
    found(branch, () =>
      previewsOf(appId)
        .toSorted((a, b) => a.createdAtMs - b.createdAtMs)
        .findLast((one) => one.branch === branch),
    );
  const phasesOf = (appId: string): string[] =>
    previewsOf(appId)
      .map(({ branch, phase }) => `${branch} ${phase}`)
      .sort();
  /** Waits until nothing is left to be done; the app of the preview. */
  const settled = async (appId: string): Promise<void> => {
    const isDone = (): boolean => previewsOf(appId).every(({ isPending }) => !isPending);
    await eventually('settled', isDone);
  };
  const shown = async (appId: string, commit: number, branch?: string): Promise<AppRecord> => {
    const { id } = await previewOf(appId, branch);
    return found(`shows ${String(commit)}`, () => {
      const app = f.store.get(tables.apps, id);
      const live = app?.liveDeploymentId && f.store.get(tables.deployments, app.liveDeploymentId);
      return live && live.commitSha === sha(commit) && app.status === 'active' ? app : undefined;
    });
  };
  const gone = (id: string): Promise<void> =>
    eventually('gone', () => f.store.get(tables.apps, id) === undefined);
  const refused = (code: string, asked: Promise<unknown>): Promise<void> =>
    assert.rejects(asked, { code });

  it('show a branch that is pushed, each of its commits, until it is deleted', async () => {
    const { id, slug } = await appOf();
    assert.equal(await push(id), 'preview');
    const first = await shown(id, 1);
    assert.deepEqual([first.slug, first.previewOf?.appId], [`feat-a-${slug}`, id]);
    assert.deepEqual(fetched, [{ sha: sha(1), branch: 'feat/a' }]);
    assert.equal(f.deployment(first.liveDeploymentId ?? '').url, `http://feat-a-${slug}.test`);
    assert.equal(await push(id, { before: 1, after: 2 }), 'preview');
    const second = await shown(id, 2);
    assert.equal(second.id, first.id);
    // It is none of the team's apps, and deliveries are for its app alone.
    const listed = f.store.list(tables.apps, 'team', ['team_1'], { limit: Infinity });
    assert.deepEqual(
      listed.map((app) => app.id),
      [id],
    );
    assert.equal(f.store.count(tables.apps, 'folder', ['team_1', null]), 1);
    assert.equal(await push(id, { before: 2, after: 0 }), 'branch_deleted');
    await gone(second.id);
    await settled(id);
    assert.deepEqual(phasesOf(id), ['feat/a closed']);
    assert.ok(!existsSync(join(f.root, 'apps', second.id)));
    assert.deepEqual(f.store.list(tables.deployments, 'app', [second.id]), []);
    assert.ok(f.driver.removedVolumes.includes(`${second.id}-data`));
    // The app itself is as it was.
    assert.equal(f.app(id).latestDeploymentId, null);
  });

  it('are not opened by other branches, tags, deletions, or commits that say so', async () => {
    const { id } = await appOf(['feat/*', '*-preview', 'main']);
    const outcomes = [
      await push(id, { branch: 'fix/a' }),
      await push(id, { kind: 'tag' }),
      await push(id, { before: 1, after: 0 }),
      await push(id, { message: 'x [skip ci]' }),
    ];
    assert.deepEqual(outcomes, ['other_branch', 'tag', 'branch_deleted', 'skipped']);
    assert.equal(await push(id, { branch: 'main' }), 'deployed');
    assert.deepEqual(previewsOf(id), []);
    const { id: without } = await appOf([], 'Other');
    assert.equal(await push(without), 'other_branch');
  });

  it('know a delivery that comes again, late, or about a branch that was made anew', async () => {
    const { id } = await appOf();
    await push(id, { after: 1 });
    await push(id, { before: 1, after: 2 });
    assert.equal(await push(id, { before: 1, after: 2 }), 'unchanged');
    assert.equal(await push(id, { after: 1 }), 'outdated');
    const { id: shownId } = await shown(id, 2);
    assert.equal(await push(id, { before: 2, after: 3, unwatched: true }), 'unwatched');
    await push(id, { before: 3, after: 4 });
    await shown(id, 4);
    // Deleted at 4 and made anew at 5, told the other way round.
    await push(id, { after: 5 });
    assert.equal(await push(id, { before: 4, after: 0 }), 'outdated');
    assert.equal((await shown(id, 5)).id, shownId);
    assert.equal(await push(id, { before: 5, after: 0 }), 'branch_deleted');
    // The push before the deletion was on its way for long.
    assert.equal(await push(id, { before: 3, after: 4 }), 'outdated');
    await gone(shownId);
    assert.deepEqual(phasesOf(id), ['feat/a closed']);
  });

  it('get the variables for previews, and a folder for files of their own', async () => {
    const { id } = await appOf();
    const entry = { isSecret: true };
    const entries = [
      { ...entry, key: 'LIVE', value: 'l', targets: ['production' as const] },
      { ...entry, key: 'TRIED', value: 't', targets: ['preview' as const] },
      { ...entry, key: 'BOTH', value: 'b', targets: [...bothTargets] },
    ];
    await f.ask(id, { type: 'env-upsert', entries });
    await push(id);
    const app = await shown(id, 1);
    const spec = f.driver.started.findLast(
      ({ owner, kind }) => owner === app.id && kind === 'service',
    );
    assert.deepEqual(
      [spec?.env['LIVE'], spec?.env['TRIED'], spec?.env['BOTH']],
      [undefined, 't', 'b'],
    );
    assert.equal(spec?.env['APP_DATA_DIR'], join(f.root, 'apps', app.id, 'data'));
    assert.equal(spec.team, 'team_1');
  });

  it('have an address each, whatever other apps and branches are called', async () => {
    const { slug: taken } = await f.create({ name: 'feat-a-web' });
    const { id } = await appOf(['*']);
    const long = `feat/${'x'.repeat(200)}`;
    const branches = ['feat/a', 'feat-a', 'FEAT/A', long, `${long}y`];
    for (const branch of branches) await push(id, { branch });
    const slugs: string[] = [];
    for (const branch of branches) slugs.push((await shown(id, 1, branch)).slug);
    assert.equal(new Set([...slugs, taken]).size, branches.length + 1);
    for (const slug of slugs) assert.match(slug, /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])$/);
    assert.deepEqual(slugs.slice(0, 3).sort(), ['feat-a-web-2', 'feat-a-web-3', 'feat-a-web-4']);
  });

  it('are five at most: the idlest makes room, of a thousand pushes at once too', async () => {
    const { id } = await appOf(['*']);
    const branches = Array.from({ length: 200 }, (_, i) => `b${String(i)}`);
    await Promise.all(branches.map((branch) => push(id, { branch })));
    for (const branch of branches.slice(-5)) await shown(id, 1, branch);
    await settled(id);
    const open = previewsOf(id).filter(({ phase }) => phase === 'open');
    assert.deepEqual(open.map(({ branch }) => branch).sort(), branches.slice(-5));
    assert.ok(previewsOf(id).length <= 25, String(previewsOf(id).length));
    const apps = f.driver.started
      .filter(({ kind }) => kind === 'service')
      .map(({ owner }) => owner);
    assert.ok(new Set(apps).size <= 30, String(new Set(apps).size));
  });

  it('follow the settings of their app, and close when it no longer wants them', async () => {
    const { id } = await appOf(['feat/*', 'fix/*']);
    await push(id);
    await push(id, { branch: 'fix/b' });
    const [a, b] = [await shown(id, 1), await shown(id, 1, 'fix/b')];
    const patch = { build: { healthPath: '/well' }, resources: { memoryMb: 128 }, name: 'Shop' };
    await f.ask(id, { type: 'update', patch });
    await eventually('follows', () => f.app(a.id).build.healthPath === '/well');
    assert.equal(f.app(a.id).resources.memoryMb, 128);
    assert.equal(f.app(a.id).name, 'Shop (feat-a)');
    assert.equal(f.app(a.id).latestDeploymentId, a.latestDeploymentId);
    await f.ask(id, { type: 'update', patch: { previewBranches: ['fix/*'] } });
    await gone(a.id);
    const elsewhere = { ...git, branch: 'main', repository: 'https://git.example.com/acme/new' };
    await f.ask(id, { type: 'update', patch: { git: elsewhere } });
    await gone(b.id);
    await settled(id);
    assert.deepEqual(phasesOf(id), ['feat/a closed', 'fix/b closed']);
  });

  it('close with their app, and leave nothing when that is removed', async () => {
    const { id } = await appOf();
    await push(id);
    const app = await shown(id, 1);
    await f.ask(id, { type: 'delete' });
    await gone(app.id);
    await settled(id);
    await f.ask(id, { type: 'restore' });
    await push(id, { before: 1, after: 2 });
    const again = await shown(id, 2);
    await f.ask(id, { type: 'delete' });
    await f.ask(id, { type: 'purge' });
    assert.equal(f.store.get(tables.apps, again.id), undefined);
    assert.deepEqual(previewsOf(id), []);
    assert.deepEqual(f.driver.routes, []);
  });

  it('close while they build, and open anew at their address when pushed again', async () => {
    const { id } = await appOf();
    const held = Promise.withResolvers<undefined>();
    f.source.held = held.promise;
    await push(id);
    const { id: first } = await previewOf(id);
    await eventually('builds', () => f.store.get(tables.apps, first)?.status === 'building');
    await push(id, { before: 1, after: 0 });
    await push(id, { after: 2 });
    held.resolve(undefined);
    const app = await shown(id, 2);
    assert.notEqual(app.id, first);
    assert.equal(app.slug, 'feat-a-web');
    assert.equal(f.store.get(tables.apps, first), undefined);
    assert.deepEqual(phasesOf(id), ['feat/a closed', 'feat/a open']);
  });

  it('are opened and closed to the end after a crash', async () => {
    const { id } = await appOf();
    const crash = async (): Promise<void> => {
      await f.crash();
      wakePreviews(f.store, f.runtime());
    };
    await push(id);
    await crash();
    const app = await shown(id, 1);
    await settled(id);
    await push(id, { before: 1, after: 0 });
    await crash();
    await gone(app.id);
    await settled(id);
    assert.deepEqual(phasesOf(id), ['feat/a closed']);
    // Between the journal and the app, which was made and asked for nothing.
    await push(id, { after: 3 });
    const again = await shown(id, 3);
    await settled(id);
    const preview = await previewOf(id);
    f.store.write([put(tables.previews, { ...preview, commitSha: sha(4), isPending: true })]);
    await crash();
    await shown(id, 4);
    assert.equal((await previewOf(id)).id, again.id);
  });

  it('wait for approval of what somebody pushed who is no collaborator, each time', async () => {
    trusted = (pusher) => Promise.resolve(pusher === 'ada');
    const { id } = await appOf();
    await push(id, { pusher: 'eve' });
    const { id: previewId } = await previewOf(id);
    await eventually('waits', () => phasesOf(id)[0] === 'feat/a waiting');
    assert.equal(f.store.get(tables.apps, previewId), undefined);
    assert.equal(fetched.length, 0);
    await f.ask(id, { type: 'preview-approve', previewId });
    await shown(id, 1);
    await refused('CONFLICT', f.ask(id, { type: 'preview-approve', previewId }));
    await push(id, { pusher: 'eve', before: 1, after: 2 });
    await eventually('waits again', () => phasesOf(id)[0] === 'feat/a waiting');
    // Neither another deployment nor another setting brings in what waits.
    await f.ask(id, { type: 'update', patch: { name: 'Shop' } });
    const { id: byHand } = await f.ask(previewId, { type: 'redeploy', trigger: 'api' });
    await f.until(byHand, 'ready');
    assert.deepEqual(
      fetched.map((request) => request.sha),
      [sha(1), sha(1)],
    );
    await push(id, { before: 2, after: 3 });
    await shown(id, 3);
  });

  it('close after seven days without a use', async () => {
    const { id } = await appOf(['*']);
    for (const branch of ['old', 'used']) await push(id, { branch });
    const [old, used] = [await shown(id, 1, 'old'), await shown(id, 1, 'used')];
    await settled(id);
    const longAgo = Date.now() - 8 * 24 * 3_600_000;
    const aged = previewsOf(id).map((preview) =>
      put(tables.previews, { ...preview, updatedAtMs: longAgo }),
    );
    const oldDeployment = f.deployment(old.latestDeploymentId ?? '');
    const [alarm] = f.store
      .list(tables.alarms, 'due', [])
      .filter(({ name }) => name === 'previews');
    assert.ok(alarm);
    f.store.write([
      ...aged,
      put(tables.deployments, { ...oldDeployment, createdAtMs: longAgo }),
      put(tables.alarms, { ...alarm, atMs: longAgo }),
    ]);
    await f.crash();
    await gone(old.id);
    await settled(id);
    assert.equal(f.app(used.id).status, 'active');
    assert.deepEqual(phasesOf(id), ['old closed', 'used open']);
  });

  it('have no settings of their own, and are closed where they are opened', async () => {
    const { id } = await appOf();
    await push(id);
    const app = await shown(id, 1);
    const asked: ({ type: keyof AppProtocol } & Record<string, unknown>)[] = [
      { type: 'update', patch: { name: 'x' } },
      { type: 'delete' },
      { type: 'stop' },
      { type: 'env-upsert', entries: [] },
      { type: 'hook-enable', enabled: true },
      { type: 'restore-begin' },
    ];
    for (const message of asked) await refused('CONFLICT', f.ask(app.id, message));
    await refused('CONFLICT', f.ask(id, { type: 'preview-remove', isForced: true }));
    const { id: restarted } = await f.ask(app.id, { type: 'restart' });
    assert.equal(restarted, app.id);
    const closed = await f.ask(id, { type: 'preview-close', previewId: app.id });
    assert.equal(closed.phase, 'closing');
    await gone(app.id);
    await refused('NOT_FOUND', f.ask(id, { type: 'preview-close', previewId: 'app_none' }));
  });

  it('are opened and closed by who may deploy, too, without a provider', async () => {
    const { id } = await appOf();
    trusted = () => Promise.resolve(false);
    const message = { type: 'preview-push', branch: 'feat/a' } as const;
    const opened = await f.ask(id, { ...message, commitSha: sha(1) });
    assert.equal(opened?.branch, 'feat/a');
    const app = await shown(id, 1);
    assert.equal(await f.ask(id, { ...message, branch: 'other', commitSha: sha(1) }), null);
    await f.ask(id, { ...message, commitSha: null });
    await gone(app.id);
  });
});
