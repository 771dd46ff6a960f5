import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { newId } from '../../../../../src/lib/ids.ts';
import type { GitDeliveryRecord } from '../../../../../src/store/records/records.ts';
import { tables } from '../../../../../src/store/records/tables.ts';
import { type AppFixture, appFixture } from '../../../../support/app-fixture.ts';
import { eventually } from '../../../../support/eventually.ts';

const sha = (n: number): string => String(n).repeat(40);
const git = {
  connectionId: null,
  repository: 'https://git.example/a/b',
  branch: 'main',
  path: null,
};

describe('a push whose commit an earlier deployment found on the branch', () => {
  let f: AppFixture;
  let appId: string;
  /** What the branch is. */
  let tip: string;
  /** What holds up fetching. */
  let fetching: Promise<unknown>;
  beforeEach(async () => {
    f = await appFixture({
      fetch: async ({ found }) => {
        await fetching;
        const commit = { sha: tip, author: 'Ada', message: 'Change' };
        await found(commit);
        return commit;
      },
    });
    ({ id: appId } = await f.create({ source: 'GIT', git }));
  });
  afterEach(() => f.close());

  const push = (before: number, after: number, byHand = false) => {
    const delivery: GitDeliveryRecord = {
      ...{ id: newId('dlv'), connectionId: 'gc_1', teamId: 'team_1', appId },
      ...{ event: 'push', deliveryId: null, refKind: 'branch', refName: 'main' },
      ...{ before: sha(before), commitSha: sha(after), commitMessage: null, committedAtMs: null },
      ...{ pusher: null, outcome: 'received', receivedAtMs: Date.now(), deploymentId: null },
    };
    return f.ask(appId, { type: 'git-push', delivery, byHand });
  };
  const deployments = () => f.store.list(tables.deployments, 'app', [appId]);
  /** The one is fetched while the other is delivered; then the branch is what the other made it. */
  const pushTwo = async (first: number): Promise<() => void> => {
    const held = Promise.withResolvers<undefined>();
    fetching = held.promise;
    await push(first - 1, first);
    await eventually('under way', () => deployments().at(-1)?.status === 'building');
    await push(first, first + 1);
    tip = sha(first + 1);
    return () => held.resolve(undefined);
  };
  const ended = async (): Promise<string[]> => {
    await eventually('ended', () => deployments().every((one) => one.finishedAtMs !== null));
    return deployments().map(({ status, commitSha }) => `${status} ${String(commitSha?.[0])}`);
  };

  it('is not deployed again', async () => {
    const goOn = await pushTwo(2);
    goOn();
    assert.deepEqual(await ended(), ['ready 3', 'superseded 3']);
    assert.equal(f.app(appId).liveDeploymentId, deployments()[0]?.id);
  });

  it('is deployed for who wants it whatever is live: by hand, or together with a push', async () => {
    const goOn = await pushTwo(2);
    await f.ask(appId, { type: 'redeploy', trigger: 'api' });
    goOn();
    assert.deepEqual(await ended(), ['ready 3', 'ready 3']);
    await push(2, 3, true);
    assert.deepEqual(await ended(), ['ready 3', 'ready 3', 'ready 3']);
  });

  it('is deployed where the earlier one failed', async () => {
    const goOn = await pushTwo(2);
    const [first] = deployments();
    assert.ok(first);
    await f.ask(appId, { type: 'cancel', deploymentId: first.id });
    goOn();
    assert.deepEqual(await ended(), ['canceled 2', 'ready 3']);
  });
});
