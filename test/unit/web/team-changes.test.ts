/** What the tab does with what it is told of its team: which queries are asked again, and which are not. */
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { createClient, fetchExchange, subscriptionExchange } from '@urql/core';
import type { SelectionSetNode } from 'graphql';
import { cache } from '../../../web/api/cache.ts';
import { InFlight } from '../../../web/api/in-flight.ts';
import { TeamChanges } from '../../../web/api/team-changes.ts';
import { OverviewApps, OverviewRest } from '../../../web/pages/overview/things.ts';
import { PreviewsQuery } from '../../../web/pages/app/git/documents.ts';
import { eventually } from '../../support/eventually.ts';

interface Asked {
  name: string;
  answer: (data: unknown) => void;
  fail: () => void;
}

/** A client whose network is a list of what was asked, each to be answered by the test. */
function open() {
  const asked: Asked[] = [];
  const inFlight = new InFlight();
  let tell: (change: object) => void = () => assert.fail('Nothing follows.');
  const client = createClient({
    url: 'http://gangway.test/',
    preferGetMethod: false,
    requestPolicy: 'cache-and-network',
    fetch: (_url, init) =>
      new Promise((resolve, reject) => {
        const { operationName } = JSON.parse(init?.body as string) as { operationName: string };
        asked.push({
          name: operationName,
          answer: (data) => resolve(Response.json({ data })),
          fail: () => reject(new TypeError('Failed to fetch')),
        });
      }),
    exchanges: [
      cache(inFlight),
      inFlight.exchange,
      subscriptionExchange({
        forwardSubscription: () => ({
          subscribe: (sink) => {
            tell = (change) => sink.next({ data: { teamChanges: change } });
            return { unsubscribe: () => undefined };
          },
        }),
      }),
      fetchExchange,
    ],
  });
  inFlight.use(client);
  client.subscription(TeamChanges, { since: 0 }).subscribe(() => undefined);
  const definition = TeamChanges.definitions[0];
  assert.ok(definition && 'operation' in definition && 'selectionSet' in definition);
  const selectionSet = selectionOf(definition.selectionSet, 'teamChanges');
  return {
    asked,
    client,
    tell: (change: Record<string, unknown>) => tell(filled(selectionSet, 'TeamChange', change)),
    app: (id: string, given = {}) =>
      filled(selectionOf(selectionSet, 'app'), 'App', { id, restarts: 0, ...given }),
  };
}

function selectionOf({ selections }: SelectionSetNode, name: string): SelectionSetNode {
  const field = selections.find((one) => 'name' in one && one.name.value === name);
  assert.ok(field && 'selectionSet' in field && field.selectionSet);
  return field.selectionSet;
}

/** An object with all fields that are asked for, null where nothing is given. */
function filled({ selections }: SelectionSetNode, type: string, given: Record<string, unknown>) {
  const names = selections.flatMap((one) => ('name' in one ? one.name.value : []));
  return {
    __typename: type,
    ...Object.fromEntries(names.map((name) => [name, given[name] ?? null])),
  };
}

const appOf = (id: string) => ({
  ...{ __typename: 'App', id, name: id, slug: id, source: 'GIT', status: 'idle', url: null },
  ...{ folderId: null, updatedAt: '2026-01-01T00:00:00Z', latestDeployment: null },
});
const appsOf = (...ids: string[]) => ({
  __typename: 'Query',
  apps: {
    __typename: 'AppConnection',
    nodes: ids.map(appOf),
    pageInfo: { __typename: 'PageInfo', hasNextPage: false, endCursor: null },
  },
});
const rest = { __typename: 'Query', databases: [], folders: [] };

describe('what is told of a team', () => {
  let tab: ReturnType<typeof open>;
  let apps: string[];
  let errors: number;
  const names = () => tab.asked.map(({ name }) => name);
  const isAsked = (...wanted: string[]) =>
    eventually(`asked ${wanted.join()}`, () => names().join() === wanted.join());
  beforeEach(async () => {
    tab = open();
    apps = [];
    errors = 0;
    tab.client.query(OverviewApps, { after: null }).subscribe(({ data, error }) => {
      if (error) errors += 1;
      if (data) apps = data.apps.nodes.map(({ id }) => id);
    });
    tab.client.query(OverviewRest, {}).subscribe(() => undefined);
    await isAsked('OverviewApps', 'OverviewRest');
  });

  it('has a list asked again that was under way when a thing came which it may lack, and no other', async () => {
    tab.tell({ kind: 'ready', id: 'team_1' });
    tab.tell({ kind: 'app', id: 'app_2', app: tab.app('app_2') });
    tab.asked[1]?.answer(rest);
    tab.asked[0]?.answer(appsOf('app_1'));
    await isAsked('OverviewApps', 'OverviewRest', 'OverviewApps');
    tab.asked[2]?.answer(appsOf('app_1', 'app_2'));
    await eventually('both are shown', () => apps.join() === 'app_1,app_2');
    tab.tell({ kind: 'app', id: 'app_2', app: tab.app('app_2') });
    tab.tell({ kind: 'folder', id: 'fld_1' });
    // What is in the list already needs no other one.
    await isAsked('OverviewApps', 'OverviewRest', 'OverviewApps', 'OverviewRest');
  });

  it('has the previews asked again when one of them changes, and not the apps', async () => {
    tab.asked[0]?.answer(appsOf('app_1'));
    tab.asked[1]?.answer(rest);
    await eventually('one is shown', () => apps.join() === 'app_1');
    tab.client.query(PreviewsQuery, { id: 'app_1' }).subscribe(() => undefined);
    await isAsked('OverviewApps', 'OverviewRest', 'AppGitPage');
    tab.asked[2]?.answer({ __typename: 'Query', app: null, previews: [] });
    tab.tell({ kind: 'app', id: 'app_2', app: tab.app('app_2', { previewOf: 'app_1' }) });
    await isAsked('OverviewApps', 'OverviewRest', 'AppGitPage', 'AppGitPage');
  });

  it('has all asked again when it says refetch, and nothing when it only says ready', async () => {
    tab.asked[0]?.answer(appsOf('app_1'));
    tab.asked[1]?.answer(rest);
    await eventually('one is shown', () => apps.join() === 'app_1');
    tab.tell({ kind: 'ready', id: 'team_1' });
    assert.equal(tab.asked.length, 2);
    tab.tell({ kind: 'refetch', id: 'team_1' });
    await eventually('both are asked', () => tab.asked.length === 4);
  });

  it('has asked again what did not reach the server, once it is reached', async () => {
    tab.asked[0]?.fail();
    tab.asked[1]?.answer(rest);
    await eventually('it has failed', () => errors === 1);
    tab.tell({ kind: 'ready', id: 'team_1' });
    await isAsked('OverviewApps', 'OverviewRest', 'OverviewApps');
    tab.asked[2]?.answer(appsOf('app_1'));
    await eventually('one is shown', () => apps.join() === 'app_1');
  });

  it('has a thing asked for that is gone, and the list that it was in', async () => {
    tab.asked[0]?.answer(appsOf('app_1'));
    tab.asked[1]?.answer(rest);
    await eventually('one is shown', () => apps.join() === 'app_1');
    tab.tell({ kind: 'app', id: 'app_1' });
    await isAsked('OverviewApps', 'OverviewRest', 'OverviewApps');
    tab.asked[2]?.answer(appsOf());
    await eventually('none is shown', () => apps.length === 0);
  });
});
