import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Actors } from '../../../src/actors/runtime/actor.ts';
import type { Accounts } from '../../../src/auth/sign-in/accounts.ts';
import { anonymous, type Principal } from '../../../src/auth/callers/principal.ts';
import { Executor } from '../../../src/graphql/execution/executor.ts';
import { schema } from '../../../src/graphql/schema/schema.ts';
import { insert, put } from '../../../src/store/records/table.ts';
import { tables } from '../../../src/store/records/tables.ts';
import {
  appRecord,
  atMs,
  deploymentRecord,
  GraphqlFixture,
} from '../../support/graphql-fixture.ts';

interface Sent {
  to: string;
  message: { type: string } & Record<string, unknown>;
}

interface Result {
  data?: Record<string, unknown> | null;
  errors?: { message: string; extensions: Record<string, unknown> }[];
}
describe('operations', () => {
  let fixture: GraphqlFixture;
  let executor: Executor;
  let sent: Sent[];
  let reply: unknown;
  let faults: unknown[];
  const accounts: Accounts = {} as never;

  // Notes what is asked and answers what the test says.
  const actors = {
    ask(to: { kind: string; id: string }, message: Sent['message']) {
      sent.push({ to: `${to.kind}:${to.id}`, message });
      return reply instanceof Error ? Promise.reject(reply) : Promise.resolve(reply);
    },
    tell: () => undefined,
  } as unknown as Actors;

  beforeEach(() => {
    fixture = new GraphqlFixture();
    sent = [];
    faults = [];
    reply = true;
    const onInternal = (cause: unknown) => faults.push(cause);
    executor = new Executor({ schema, limits: fixture.limits, onInternal, onFault: onInternal });
    const { store } = fixture.accounts;
    store.write([
      insert(tables.trash, {
        id: 'trs_1',
        teamId: 'team_a',
        kind: 'app',
        targetId: 'app_gone',
        name: 'Gone',
        deletedAtMs: atMs,
        purgeAtMs: atMs,
      }),
      put(tables.apps, appRecord('app_gone', 'team_a', { deletedAtMs: atMs })),
      put(tables.deployments, deploymentRecord('dpl_x', { id: 'app_x', teamId: 'team_b' })),
    ]);
  });
  afterEach(() => fixture.close());

  async function run(
    query: string,
    principal: Principal = fixture.ann,
    variables = {},
  ): Promise<Result> {
    const context = fixture.context(principal, { actors, accounts });
    const { json } = await executor.answer(query, undefined, variables, context);
    return JSON.parse(json) as Result;
  }

  const codes = ({ errors = [] }: Result) => errors.map((error) => error.extensions['code']);

  const gated: [string, string, string][] = [
    ['createFolder(name: "x") { id }', 'manage_folders', ''],
    ['deleteFolder(id: "fld_1")', 'manage_folders', 'deleteFolder(id: "fld_none")'],
    [
      'createApp(input: { name: "x", source: UPLOAD }) { id }',
      'create_apps',
      'createApp(input: { name: "x", source: UPLOAD, folderId: "fld_none" }) { id }',
    ],
    [
      'updateApp(id: "app_1", name: "y") { id }',
      'configure_apps',
      'updateApp(id: "app_x", name: "y") { id }',
    ],
    ['deleteApp(id: "app_1")', 'delete_apps', 'deleteApp(id: "app_x")'],
    ['restoreFromTrash(id: "trs_1")', 'delete_apps', 'restoreFromTrash(id: "trs_none")'],
    ['purgeFromTrash(id: "trs_1")', 'delete_apps', 'purgeFromTrash(id: "app_1")'],
    ['redeploy(appId: "app_1") { id }', 'deploy_apps', 'redeploy(appId: "app_x") { id }'],
    ['cancelDeployment(id: "dpl_1b")', 'deploy_apps', 'cancelDeployment(id: "dpl_x")'],
    [
      'rollbackDeployment(deploymentId: "dpl_1a") { id }',
      'deploy_apps',
      'rollbackDeployment(deploymentId: "dpl_x") { id }',
    ],
    ['startApp(id: "app_1") { id }', 'control_apps', 'startApp(id: "app_x") { id }'],
    ['stopApp(id: "app_1") { id }', 'control_apps', 'stopApp(id: "app_gone") { id }'],
    ['restartApp(id: "app_1") { id }', 'control_apps', 'restartApp(id: "nonsense") { id }'],
    [
      'upsertEnv(appId: "app_1", entries: [{ key: "A", value: "b" }]) { id }',
      'manage_env',
      'upsertEnv(appId: "app_x", entries: []) { id }',
    ],
    ['deleteEnv(appId: "app_1", key: "A")', 'manage_env', 'deleteEnv(appId: "app_x", key: "A")'],
    [
      'revealEnv(appId: "app_1", key: "A")',
      'reveal_secrets',
      'revealEnv(appId: "app_x", key: "A")',
    ],
    ['revealAppDeployHook(id: "app_1")', 'configure_apps', 'revealAppDeployHook(id: "app_x")'],
    ['rotateAppDeployHook(id: "app_1")', 'configure_apps', 'rotateAppDeployHook(id: "app_x")'],
    [
      'setAppDeployHookEnabled(id: "app_1", enabled: false) { id }',
      'configure_apps',
      'setAppDeployHookEnabled(id: "app_x", enabled: false) { id }',
    ],
    ['createToken(input: { name: "x" }) { secret }', 'manage_tokens', ''],
    ['revokeToken(id: "tok_none")', 'manage_tokens', ''],
    ['setMcpSettings(enabled: false) { enabled }', 'manage_team', ''],
  ];
  for (const [operation, capability, elsewhere] of gated) {
    const name = operation.slice(0, operation.indexOf('('));
    it(`${name} needs ${capability}, a sign-in, and something the caller can see`, async () => {
      const lacking = await run(`mutation { ${operation} }`, fixture.viewer);
      assert.deepEqual(codes(lacking), ['FORBIDDEN']);
      assert.equal(lacking.errors?.[0]?.extensions['capability'], capability);
      assert.deepEqual(codes(await run(`mutation { ${operation} }`, anonymous)), [
        'UNAUTHENTICATED',
      ]);
      if (elsewhere) assert.deepEqual(codes(await run(`mutation { ${elsewhere} }`)), ['NOT_FOUND']);
      assert.deepEqual(sent, []);
    });
  }

  it('updateInstanceSettings is for the administrator, whom no token stands for', async () => {
    const change = 'mutation { updateInstanceSettings(logMaxDays: 3) { logMaxDays } }';
    assert.deepEqual(codes(await run(change)), ['FORBIDDEN']);
    fixture.accounts.addUser('usr_ann', { isInstanceAdmin: true });
    const { principal } = fixture.accounts.addToken('tok_a', 'usr_ann', 'team_a', {
      allTeams: true,
    });
    assert.deepEqual(codes(await run(change, principal)), ['FORBIDDEN']);
    assert.deepEqual((await run(change)).errors, undefined);
    assert.deepEqual(sent, [
      { to: 'instance:instance', message: { type: 'update', patch: { logMaxDays: 3 } } },
    ]);
  });

  it('createApp asks the team for a new app, with everything said in full', async () => {
    reply = appRecord('app_new', 'team_a');
    const made =
      await run(`mutation { createApp(input: { name: "Shop", source: GIT, folderId: "fld_1",
      git: { repository: "push", branch: "main", watchPaths: ["src"], submodules: true }, build: { port: 80 }, resources: { memoryMb: 64 },
      env: [{ key: "A", value: "1", isSecret: false, targets: [preview] }, { key: "B", value: "2" }] }) { id slug } }`);
    assert.deepEqual(made.data, { createApp: { id: 'app_new', slug: 'app-new' } });
    assert.equal(sent[0]!.to, 'team:team_a');
    const { appId, ...message } = sent[0]!.message;
    assert.match(String(appId), /^app_[0-9a-z]{26}$/);
    assert.deepEqual(message, {
      type: 'app-create',
      app: {
        teamId: 'team_a',
        name: 'Shop',
        source: 'GIT',
        folderId: 'fld_1',
        serverId: null,
        git: {
          ...{ connectionId: null, repository: 'push', branch: 'main', path: null },
          ...{ watchPaths: ['src'], submodules: true },
        },
        image: null,
        compose: null,
        build: { port: 80 },
        resources: { memoryMb: 64 },
        env: [
          { key: 'A', value: '1', isSecret: false, targets: ['preview'] },
          { key: 'B', value: '2', isSecret: true, targets: ['production', 'preview'] },
        ],
      },
    });
  });

  it('updateApp says only what was named; null takes an app out of its folder', async () => {
    reply = appRecord('app_2', 'team_a');
    await run(
      'mutation { updateApp(id: "app_2", folderId: null, build: { startCommand: null, port: 1 }) { id } }',
    );
    await run(
      'mutation { updateApp(id: "app_2", folderId: "fld_1", edge: { hsts: null }, autoDeploy: false, name: null) { id } }',
    );
    const patches = sent.map(({ to, message }) => [to, message['patch']]);
    assert.deepEqual(patches, [
      ['team:team_a', { folderId: null, build: { startCommand: null, port: 1 } }],
      ['team:team_a', { folderId: 'fld_1', autoDeploy: false, edge: { hsts: null } }],
      ['edge:srv_local', undefined],
    ]);
  });

  it('redeploy tells who asked: the dashboard, a token, or MCP', async () => {
    reply = deploymentRecord('dpl_n', { id: 'app_1', teamId: 'team_a' });
    const query = 'mutation { redeploy(appId: "app_1") { id } }';
    await run(query);
    const { principal } = fixture.accounts.addToken('tok_a', 'usr_ann', 'team_a', {
      allTeams: true,
    });
    await run(query, principal);
    const context = { ...fixture.context(fixture.ann, { actors }), via: 'mcp' as const };
    await executor.answer(query, undefined, {}, context);
    assert.deepEqual(
      sent.map(({ message }) => message['trigger']),
      ['dashboard', 'api', 'mcp'],
    );
  });

  it('upsertEnv keeps the targets a variable has when none are named', async () => {
    const variable = {
      id: 'env_1',
      appId: 'app_1',
      key: 'A',
      isSecret: false,
      value: 'x',
      sealed: null,
      masked: 'x',
      targets: ['preview' as const],
      updatedAtMs: atMs,
    };
    fixture.accounts.store.write([put(tables.env, variable)]);
    reply = [variable];
    const done = await run(
      'mutation { upsertEnv(appId: "app_1", entries: [{ key: "A", value: "y" }]) { key value targets } }',
    );
    assert.deepEqual(done.data, { upsertEnv: [{ key: 'A', value: 'x', targets: ['preview'] }] });
    assert.deepEqual(sent[0]!.message['entries'], [
      { key: 'A', value: 'y', isSecret: true, targets: ['preview'] },
    ]);
  });

  it('revealAppDeployHook gives the full address, on the public URL that was set', async () => {
    reply = { token: 'hooktoken' };
    const query = 'mutation { revealAppDeployHook(id: "app_1") }';
    assert.equal(
      (await run(query)).data?.['revealAppDeployHook'],
      'http://127.0.0.1:3000/api/apps/app_1/deploy-hook/hooktoken',
    );
    fixture.accounts.store.write([
      put(tables.instance, {
        id: 'instance',
        instanceId: 'i',
        logMaxDays: 7,
        publicUrl: 'https://panel.example',
        createdAtMs: 0,
        setUpAtMs: 1,
      }),
    ]);
    assert.equal(
      (await run(query)).data?.['revealAppDeployHook'],
      'https://panel.example/api/apps/app_1/deploy-hook/hooktoken',
    );
  });

  it('restoreFromTrash and purgeFromTrash ask the app that is in trash', async () => {
    await run('mutation { restoreFromTrash(id: "trs_1") purgeFromTrash(id: "app_gone") }');
    assert.deepEqual(
      sent.map(({ to, message }) => `${to} ${message.type}`),
      ['app:app_gone restore', 'app:app_gone purge'],
    );
    assert.deepEqual((await run('{ trash { id kind name } }')).data, {
      trash: [{ id: 'trs_1', kind: 'app', name: 'Gone' }],
    });
  });

  it('an unexpected failure is INTERNAL without a word of it, and is told to the log', async () => {
    reply = new Error('secret detail /var/lib');
    const failed = await run('mutation { deleteApp(id: "app_1") }');
    assert.deepEqual(codes(failed), ['INTERNAL']);
    assert.ok(!JSON.stringify(failed).includes('secret'));
    assert.equal(faults[0], reply);
  });

  it('sign-in works over HTTP only, and a token never reaches the account', async () => {
    const login = 'mutation { login(email: "a", password: "b") { requiresTwoFactor } }';
    assert.deepEqual(codes(await run(login)), ['FORBIDDEN']);
    const { principal } = fixture.accounts.addToken('tok_a', 'usr_ann', 'team_a', {
      allTeams: true,
    });
    assert.deepEqual(
      codes(await run('mutation { switchTeam(teamId: "team_a") { id } }', principal)),
      ['FORBIDDEN'],
    );
  });

  it('what a token does not reach does not exist for it', async () => {
    const { principal } = fixture.accounts.addToken('tok_s', 'usr_ann', 'team_a', {
      appIds: ['app_2'],
    });
    const seen = await run(
      '{ apps { totalCount nodes { id } } app(id: "app_1") { id } bySlug: app(slug: "app-2") { id } deployment(id: "dpl_1a") { id } trash { id } folders { id } }',
      principal,
    );
    assert.deepEqual(seen, {
      data: {
        apps: { totalCount: 1, nodes: [{ id: 'app_2' }] },
        app: null,
        bySlug: { id: 'app_2' },
        deployment: null,
        trash: [],
        folders: [],
      },
    });
  });

  it('pages follow each other without loss or repeat', async () => {
    const ids: string[] = [];
    let after: string | null = null;
    for (;;) {
      const query =
        'query($after: String) { apps(first: 2, after: $after) { nodes { id } pageInfo { endCursor hasNextPage } totalCount } }';
      const { data } = await run(query, fixture.ann, { after });
      const page = data?.['apps'] as {
        nodes: { id: string }[];
        pageInfo: { endCursor: string; hasNextPage: boolean };
      };
      ids.push(...page.nodes.map((node) => node.id));
      after = page.pageInfo.endCursor;
      if (!page.pageInfo.hasNextPage) break;
    }
    assert.deepEqual(ids, ['app_1', 'app_2', 'app_3']);
    const newest = await run(
      '{ app(id: "app_1") { deployments(first: 1) { nodes { id } pageInfo { endCursor } } } }',
    );
    const { deployments } = newest.data?.['app'] as {
      deployments: { nodes: unknown[]; pageInfo: { endCursor: string } };
    };
    assert.deepEqual(deployments.nodes, [{ id: 'dpl_1b' }]);
    const older = await run(
      'query($c: String) { app(id: "app_1") { deployments(after: $c) { nodes { id } } } }',
      fixture.ann,
      { c: deployments.pageInfo.endCursor },
    );
    assert.deepEqual(older.data, { app: { deployments: { nodes: [{ id: 'dpl_1a' }] } } });
  });

  it('a cursor of another list, or of nobody, is BAD_USER_INPUT, as is a length out of bounds', async () => {
    for (const args of [
      'after: "x"',
      `after: "${Buffer.from('dpl:a').toString('base64url')}"`,
      'first: -1',
      'first: 501',
    ]) {
      assert.deepEqual(
        codes(await run(`{ apps(${args}) { totalCount } }`)),
        ['BAD_USER_INPUT'],
        args,
      );
    }
    for (const tail of [-1, 5_001]) {
      assert.deepEqual(
        codes(await run(`{ logs(appId: "app_1", tail: ${tail}) { nodes { text } } }`)),
        ['BAD_USER_INPUT'],
      );
    }
  });

  it('logs give the last lines, then what came behind the cursor', async () => {
    type Logs = {
      logs: { nodes: { text: string }[]; pageInfo: { endCursor: string; hasNextPage: boolean } };
    };
    const first = (
      await run(
        '{ logs(appId: "app_1", tail: 2) { nodes { text } pageInfo { endCursor hasNextPage } } }',
      )
    ).data as unknown as Logs;
    assert.deepEqual(first.logs.nodes, [{ text: 'three' }, { text: 'four' }]);
    fixture.logs.write('app:app_1', 'five', 'six');
    const query =
      'query($c: String) { logs(appId: "app_1", tail: 1, after: $c) { nodes { text } pageInfo { endCursor hasNextPage } } }';
    const second = (await run(query, fixture.ann, { c: first.logs.pageInfo.endCursor }))
      .data as unknown as Logs;
    assert.deepEqual(second.logs.nodes, [{ text: 'five' }]);
    assert.equal(second.logs.pageInfo.hasNextPage, true);
    assert.deepEqual(
      codes(await run('{ logs(appId: "app_1", container: "none") { nodes { text } } }')),
      ['NO_SUCH_CONTAINER'],
    );
    assert.deepEqual(codes(await run('{ logs(appId: "app_x") { nodes { text } } }')), [
      'NOT_FOUND',
    ]);
    assert.deepEqual(codes(await run('{ logs(databaseId: "db_1") { nodes { text } } }')), [
      'NOT_FOUND',
    ]);
    assert.deepEqual(codes(await run('{ logs { nodes { text } } }')), ['BAD_USER_INPUT']);
  });
});
