import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { put, remove, take } from '../../../src/store/records/table.ts';
import { tables } from '../../../src/store/records/tables.ts';
import type { BackupRunRecord } from '../../../src/store/records/records.ts';
import { eventually } from '../../support/eventually.ts';
import { appRecord, deploymentRecord } from '../../support/graphql-fixture.ts';
import { type GraphqlGateway, startGraphql } from '../../support/graphql-gateway.ts';
import { type Frame, RawGraphqlSocket } from '../../support/graphql-socket.ts';

const query = `subscription { teamChanges {
  kind id app { id name folderId status latestDeployment { id status } } database { id }
  deployment { id status queuePosition } backupRun { id progressBytes } restoreRun { id status }
} }`;

type Told = Record<string, unknown> & { kind: string; id: string };

describe('teamChanges', () => {
  let api: GraphqlGateway;
  const opened: RawGraphqlSocket[] = [];
  before(async () => {
    api = await startGraphql();
  });
  after(async () => {
    for (const one of opened) await one.close();
    await api.close();
  });

  const store = () => api.fixture.accounts.store;
  const write = (...changes: Parameters<ReturnType<typeof store>['write']>[0]) =>
    store().write(changes);

  async function follow(userId: string, authorization?: string, document = query) {
    const socket = await RawGraphqlSocket.start(
      api.url,
      authorization === undefined ? { cookie: api.cookie(userId) } : {},
      authorization === undefined ? undefined : { authorization },
    );
    opened.push(socket);
    socket.subscribe('1', document);
    const told = async (): Promise<Told> => toldIn(await socket.next());
    assert.equal((await told()).kind, 'ready');
    return { socket, told };
  }

  function toldIn(frame: Frame | undefined): Told {
    assert.equal(frame?.type, 'next', JSON.stringify(frame));
    const { data } = frame.payload as { data: { teamChanges: Told } };
    assert.ok(data, JSON.stringify(frame));
    return data.teamChanges;
  }

  /** What is told until a mark that everybody of the team hears of. */
  let marks = 0;
  async function untilMark(told: () => Promise<Told>): Promise<Told[]> {
    const mark = `rol_mark${++marks}`;
    write(
      put(tables.roles, {
        id: mark,
        teamId: 'team_a',
        name: mark,
        capabilities: [],
        builtIn: null,
      }),
    );
    const all: Told[] = [];
    for (;;) {
      const one = await told();
      if (one.id === mark) return all;
      if (!one.id.startsWith('rol_mark')) all.push(one);
    }
  }
  const named = (all: readonly Told[]) => all.map(({ kind, id }) => `${kind} ${id}`);

  it('tells each thing that changed, with what it is now', async () => {
    const { told } = await follow('usr_ann');
    const app = appRecord('app_n', 'team_a', { status: 'idle' });
    write(put(tables.apps, app));
    const made = await told();
    assert.deepEqual([made.kind, made.id], ['app', 'app_n']);
    assert.deepEqual(made['app'], {
      ...{ id: 'app_n', name: 'Name of app_n', folderId: null, status: 'idle' },
      latestDeployment: null,
    });
    const deployment = deploymentRecord('dpl_n', app, { status: 'building' });
    write(
      put(tables.deployments, deployment),
      put(tables.apps, { ...app, status: 'building', latestDeploymentId: 'dpl_n' }),
    );
    const [first, second] = [await told(), await told()];
    assert.deepEqual(first['deployment'], { id: 'dpl_n', status: 'building', queuePosition: null });
    assert.deepEqual((second['app'] as Told)['latestDeployment'], {
      id: 'dpl_n',
      status: 'building',
    });
    const run = {
      ...{ id: 'run_n', kind: 'app', targetId: 'app_n', teamId: 'team_a', status: 'running' },
      progressBytes: 7,
    } as BackupRunRecord;
    write(put(tables.backupRuns, run));
    assert.deepEqual((await told())['backupRun'], { id: 'run_n', progressBytes: 7 });
    write(remove(tables.folders, 'fld_none'));
    api.fixture.accounts.addFolder('fld_n', 'team_a');
    assert.deepEqual(named([await told()]), ['folder fld_n']);
  });

  it('tells what goes as gone, by all ways that it goes', async () => {
    const app = appRecord('app_g', 'team_a');
    write(put(tables.apps, app), put(tables.apps, appRecord('app_d', 'team_a')));
    const domain = {
      id: 'dom_g',
      appId: 'app_d',
      teamId: 'team_a',
      host: 'g.example',
      verifiedAtMs: null,
      nextTryAtMs: null,
      certificateId: null,
    };
    write(put(tables.domains, domain as never));
    const { told } = await follow('usr_ann');
    const trash = {
      id: 'trs_g',
      teamId: 'team_a',
      kind: 'app' as const,
      targetId: 'app_g',
      name: 'g',
      deletedAtMs: 1,
      purgeAtMs: 2,
    };
    write(put(tables.apps, { ...app, deletedAtMs: 1 }), put(tables.trash, trash));
    const [gone, trashed] = [await told(), await told()];
    assert.deepEqual([gone.kind, gone.id, gone['app']], ['app', 'app_g', null]);
    assert.deepEqual(named([trashed]), ['trash trs_g']);
    store().write([remove(tables.apps, 'app_g'), remove(tables.trash, 'trs_g')], 'app:app_g', 1);
    assert.deepEqual(named([await told(), await told()]), ['app app_g', 'trash trs_g']);
    write(remove(tables.domains, 'dom_g'));
    const lost = await told();
    assert.deepEqual(named([lost]), ['domain dom_g']);
    assert.equal((lost['app'] as Told).id, 'app_d');
    write(take(tables.folders, 'fld_n'));
    assert.deepEqual(named([await told()]), ['folder fld_n']);
  });

  it('tells queued deployments that move up', async () => {
    const app = appRecord('app_q', 'team_a');
    const queued = (id: string, buildTurn: number) =>
      deploymentRecord(id, app, { status: 'queued', buildTurn });
    write(put(tables.apps, app), put(tables.deployments, queued('dpl_q1', 101)));
    write(put(tables.deployments, queued('dpl_q2', 102)));
    const { told } = await follow('usr_ann');
    write(put(tables.deployments, { ...queued('dpl_q1', 101), status: 'building' }));
    const first = await told();
    assert.deepEqual(named([first]), ['deployment dpl_q1']);
    const second = await told();
    assert.deepEqual(named([second]), ['deployment dpl_q2']);
    assert.equal((second['deployment'] as Told)['status'], 'queued');
  });

  it('names nothing of another team, nor to a token what is outside its scope', async () => {
    const scoped = api.fixture.accounts.addToken('tok_scope', 'usr_ann', 'team_a', {
      appIds: ['app_1', 'app_3'],
    });
    const narrow = await follow('', `Bearer ${scoped.secret}`);
    const whole = await follow('usr_ann');
    const foreign = await follow('usr_bob');
    write(put(tables.apps, appRecord('app_2', 'team_a', { folderId: 'fld_1' })));
    write(put(tables.deployments, deploymentRecord('dpl_2c', { id: 'app_2', teamId: 'team_a' })));
    write(put(tables.apps, appRecord('app_x', 'team_b')));
    write(put(tables.apps, appRecord('app_1', 'team_a')));
    write(put(tables.apps, appRecord('app_1', 'team_a', { deletedAtMs: 1 })));
    assert.deepEqual(named(await untilMark(whole.told)), [
      'app app_2',
      'deployment dpl_2c',
      'app app_1',
    ]);
    const last = await untilMark(narrow.told);
    assert.deepEqual(named(last), ['app app_1']);
    assert.equal(last[0]?.['app'], null);
    assert.deepEqual(named([await foreign.told()]), ['app app_x']);
    await foreign.socket.close();
    write(put(tables.apps, appRecord('app_1', 'team_a')));
  });

  it('shows who has a folder alone that folder, and that a thing left it', async () => {
    const { accounts } = api.fixture;
    accounts.addUser('usr_gus');
    accounts.addMember('team_a', 'usr_gus', []);
    accounts.addFolder('fld_g', 'team_a');
    accounts.addFolder('fld_h', 'team_a');
    const at = (folderId: string | null) => appRecord('app_m', 'team_a', { folderId });
    write(put(tables.apps, at('fld_h')));
    accounts.addGrant('fld_g', 'usr_gus', ['view_logs']);
    const { told } = await follow('usr_gus');
    write(put(tables.apps, at('fld_h')), put(tables.apps, appRecord('app_h', 'team_a')));
    write(put(tables.deployments, deploymentRecord('dpl_m1', at('fld_h'))));
    assert.deepEqual(named(await untilMark(told)), []);
    write(put(tables.apps, at('fld_g')));
    const arrived = await untilMark(told);
    assert.deepEqual(named(arrived), ['app app_m']);
    assert.equal((arrived[0]?.['app'] as Told)['folderId'], 'fld_g');
    write(put(tables.apps, at('fld_h')));
    write(put(tables.deployments, deploymentRecord('dpl_m2', at('fld_h'))));
    const left = await untilMark(told);
    assert.deepEqual(named(left), ['app app_m']);
    assert.equal(left[0]?.['app'], null);
    write(put(tables.apps, { ...at('fld_h'), name: 'secret' }));
    assert.deepEqual(named(await untilMark(told)), []);
    accounts.addGrant('fld_h', 'usr_gus', ['view_logs']);
    write(put(tables.apps, at('fld_h')));
    assert.deepEqual(named(await untilMark(told)), ['refetch team_a', 'app app_m']);
  });

  it('says refetch to whom a role or a membership changed, and ends where the right is lost', async () => {
    const vic = await follow('usr_vic');
    const ann = await follow('usr_ann');
    const member = store().get(tables.members, ['team_a', 'usr_vic'])!;
    write(put(tables.members, member));
    assert.deepEqual(named(await untilMark(ann.told)), ['member usr_vic']);
    assert.deepEqual(named(await untilMark(vic.told)), ['member usr_vic', 'refetch team_a']);
    const role = store().get(tables.roles, member.roleId)!;
    write(put(tables.roles, role));
    assert.deepEqual(named(await untilMark(vic.told)), [`role ${role.id}`, 'refetch team_a']);
    write(remove(tables.members, ['team_a', 'usr_vic']));
    assert.equal((await vic.socket.closed).code, 4401);
    assert.ok(!JSON.stringify(vic.socket.frames.slice(-1)).includes('usr_vic'));
    write(put(tables.members, member));
    await ann.socket.close();
  });

  it('tells who may use them of git connections, registries and invites, and all of destinations', async () => {
    api.fixture.accounts.addUser('usr_git');
    api.fixture.accounts.addMember('team_a', 'usr_git', ['manage_git']);
    const git = await follow('usr_git');
    const vic = await follow('usr_vic');
    const ann = await follow('usr_ann');
    const of = { teamId: 'team_a' };
    write(
      put(tables.gitConnections, { ...of, id: 'git_1', hookHash: 'h' } as never),
      put(tables.registries, { ...of, id: 'reg_1', host: 'a.example' } as never),
      put(tables.invites, { ...of, id: 'inv_1', hash: 'h', email: 'a', roleId: 'r' } as never),
      put(tables.destinations, { ...of, id: 'dst_1' } as never),
    );
    write(take(tables.gitConnections, 'git_1'), remove(tables.destinations, 'dst_1'));
    const once = ['gitConnection git_1', 'registry reg_1', 'invite inv_1', 'destination dst_1'];
    const gone = ['gitConnection git_1', 'destination dst_1'];
    const told = async (one: typeof ann) => [...new Set(named(await untilMark(one.told)))].sort();
    assert.deepEqual(await told(ann), [...new Set([...once, ...gone])].sort());
    assert.deepEqual(await told(git), ['destination dst_1', 'gitConnection git_1']);
    assert.deepEqual(await told(vic), ['destination dst_1']);
  });

  it('tells that variables changed by the id of their app, and no name of them', async () => {
    const { told } = await follow('usr_ann');
    const foreign = await follow('usr_bob');
    write(put(tables.env, { id: 'env_1', appId: 'app_1', key: 'SECRET_NAME' } as never));
    assert.deepEqual(named([await told()]), ['env app_1']);
    write(remove(tables.env, ['app_1', 'SECRET_NAME']));
    assert.deepEqual(named([await told()]), ['env app_1']);
    write(put(tables.apps, appRecord('app_x2', 'team_b')));
    assert.deepEqual(named([await foreign.told()]), ['app app_x2']);
    await foreign.socket.close();
  });

  it('says refetch behind ready where something changed since what the caller has, and only there', async () => {
    const position = async (): Promise<number> => {
      const cookie = api.cookie('usr_ann');
      const answer = await api.post({ query: '{ position }' }, { cookie });
      return ((await answer.json()) as { data: { position: number } }).data.position;
    };
    const since = (at: number) => query.replace('teamChanges', `teamChanges(since: ${at})`);
    const before = await position();
    const { told } = await follow('usr_ann', undefined, since(before));
    write(put(tables.apps, appRecord('app_since', 'team_a')));
    assert.deepEqual(named([await told()]), ['app app_since']);
    // As somebody is seen to use a session: of no page.
    const seen = { sessionId: 'ses_1', userId: 'usr_ann', lastSeenAtMs: 1 };
    const now = await position();
    write(put(tables.sightings, seen));
    assert.notEqual(await position(), now);
    const late = await follow('usr_ann', undefined, since(before));
    assert.equal((await late.told()).kind, 'refetch');
    const newest = await follow('usr_ann', undefined, since(now));
    write(put(tables.apps, appRecord('app_since', 'team_a')));
    assert.deepEqual(named([await newest.told()]), ['app app_since']);
  });

  it('is refused without a team and without a sign-in', async () => {
    const socket = await RawGraphqlSocket.start(api.url);
    socket.subscribe('1', query);
    assert.equal((await socket.next())?.type, 'error');
    await socket.close();
  });

  it('makes one of many changes for who is slow, and says so when it forgot some', async () => {
    // Those of the tests before would keep gigabytes of what is told here.
    for (const one of opened.splice(0)) await one.close();
    const { told, socket } = await follow('usr_ann', undefined, query);
    const name = 'x'.repeat(300_000);
    socket.socket.pause();
    for (let i = 0; i < 300; i++) {
      write(put(tables.apps, appRecord('app_s', 'team_a', { name: `${name}${i}` })));
      await new Promise(setImmediate);
    }
    const before = socket.frames.length;
    socket.socket.resume();
    const isNewest = (): boolean => JSON.stringify(socket.frames.at(-1)).includes('x299"');
    await eventually('the newest is there', isNewest, 60_000);
    assert.ok(socket.frames.length - before < 150, String(socket.frames.length));
    socket.socket.pause();
    for (let i = 0; i < 1_200; i++) {
      write(put(tables.apps, appRecord(`app_many${i}`, 'team_a', { name })));
      if (i < 100) await new Promise(setImmediate);
    }
    socket.socket.resume();
    for (;;) {
      const one = await told();
      if (one.kind === 'refetch') break;
      assert.equal(one.kind, 'app');
    }
    await socket.close();
  });

  it('keeps nothing of a team that nobody follows', async () => {
    for (const one of opened) await one.close();
    await eventually('all have left', () => api.sockets.size === 0);
    write(put(tables.apps, appRecord('app_z', 'team_a')));
    const { told } = await follow('usr_ann');
    write(put(tables.apps, appRecord('app_y', 'team_a')));
    assert.deepEqual(named([await told()]), ['app app_y']);
  });
});
