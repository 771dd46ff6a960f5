import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { hashHookToken } from '../../../../src/actors/app/deploying/hook-token.ts';
import type { Actors } from '../../../../src/actors/runtime/actor.ts';
import { createAuthenticator } from '../../../../src/auth/callers/authenticator.ts';
import { authorize } from '../../../../src/auth/rights/authorize.ts';
import { Callers } from '../../../../src/gateway/credentials.ts';
import { deployHookRoutes } from '../../../../src/gateway/transports/deploy-hook.ts';
import { ServiceError } from '../../../../src/lib/errors.ts';
import { AccountsFixture } from '../../../support/accounts-fixture.ts';
import { startGateway } from '../../../support/gateway.ts';
import type { TestGateway } from '../../../support/gateway.ts';
import { systemClock } from '../../../../src/lib/clock.ts';

const hookToken = 'the-url-token-of-the-hook-of-app-1';

describe('POST /api/apps/:id/deploy-hook/:token', () => {
  const accounts = new AccountsFixture({ clock: systemClock });
  const asked: object[] = [];
  let enabled = true;
  let gateway: TestGateway;
  let close = (): void => undefined;
  let may = '';
  let mayNot = '';
  let elsewhere = '';

  before(async () => {
    accounts.addUser('usr_1');
    accounts.addTeam('team_1', 'usr_1');
    accounts.addTeam('team_2', 'usr_1');
    const hookHash = hashHookToken(hookToken);
    accounts.addApp('app_1', 'team_1', { hookHash });
    accounts.addApp('app_gone', 'team_1', { hookHash, deletedAtMs: 1 });
    may = accounts.addToken('tok_1', 'usr_1', 'team_1', { allTeams: true }).secret;
    mayNot = accounts.addToken('tok_2', 'usr_1', 'team_1', {
      allTeams: true,
      capabilities: ['view_logs'],
    }).secret;
    elsewhere = accounts.addToken('tok_3', 'usr_1', 'team_2', { teamIds: ['team_2'] }).secret;
    const actors = {
      ask: (_to: object, message: object) => {
        asked.push(message);
        if (!enabled) throw new ServiceError('HOOK_DISABLED', 'Off.');
        return Promise.resolve({
          deployment: { id: 'dpl_1', status: 'building' },
          url: 'http://a.test',
        });
      },
    } as unknown as Actors;
    const { store } = accounts;
    const authenticator = createAuthenticator({
      reader: store,
      subscribe: (listener) => store.subscribe(listener),
      actors,
      clock: systemClock,
      log: accounts.log,
      secret: 'x'.repeat(32),
    });
    close = () => {
      authenticator.close();
    };
    const publicUrl = () => ({ url: 'http://panel.test', configured: true });
    const callers = new Callers({ authenticator, publicUrl });
    gateway = await startGateway(deployHookRoutes({ reader: store, actors, callers, authorize }));
  });
  after(async () => {
    await gateway.close();
    close();
    await accounts.close();
  });

  const call = async (
    bearer: string | null,
    { app = 'app_1', token = hookToken, headers = {}, body = null as string | null } = {},
  ) => {
    const response = await fetch(`${gateway.url}/api/apps/${app}/deploy-hook/${token}`, {
      method: 'POST',
      headers: { ...(bearer !== null && { authorization: `Bearer ${bearer}` }), ...headers },
      body,
    });
    const answer = (await response.json()) as Record<string, unknown>;
    return { status: response.status, answer, headers: response.headers };
  };

  it('answers 200 with what was queued', async () => {
    const { status, answer } = await call(may);
    assert.equal(status, 200);
    assert.deepEqual(answer, {
      deploymentId: 'dpl_1',
      appId: 'app_1',
      status: 'queued',
      url: 'http://a.test',
    });
    assert.deepEqual(asked.at(-1), { type: 'hook', tokenHash: hashHookToken(hookToken) });
  });

  it('reads past a body of any kind', async () => {
    const headers = { 'content-type': 'application/json' };
    assert.equal((await call(may, { headers, body: '{"x":' })).status, 200);
    assert.equal((await call(may, { body: 'y'.repeat(300_000) })).status, 200);
  });

  it('answers 401 without a usable token, a cookie notwithstanding', async () => {
    for (const bearer of [null, 'nonsense', `${may}x`]) {
      const { status, headers } = await call(bearer, {
        headers: { cookie: 'service.session_token=a.b' },
      });
      assert.equal(status, 401);
      assert.match(headers.get('www-authenticate') ?? '', /^Bearer/);
    }
  });

  it('answers 404 for what the token cannot see, and for a wrong URL token', async () => {
    const before = asked.length;
    for (const options of [{ app: 'app_none' }, { app: 'app_gone' }, { token: 'wrong' }]) {
      assert.equal((await call(may, options)).status, 404);
    }
    assert.equal((await call(elsewhere)).status, 404);
    assert.equal((await call(mayNot, { token: 'wrong' })).status, 404);
    assert.equal(asked.length, before);
  });

  it('answers 403 for a token that may not deploy, and for a hook that is off', async () => {
    const refused = await call(mayNot);
    assert.equal(refused.status, 403);
    assert.match(String(refused.answer['detail']), /deploy_apps/);
    enabled = false;
    const off = await call(may);
    assert.equal(off.status, 403);
    assert.equal(off.answer['code'], 'HOOK_DISABLED');
    enabled = true;
  });

  it('answers 405 to another method and leaves the token out of the access log', async () => {
    const response = await fetch(`${gateway.url}/api/apps/app_1/deploy-hook/${hookToken}`);
    assert.equal(response.status, 405);
    assert.equal(response.headers.get('allow'), 'POST');
    assert.ok(!JSON.stringify(gateway.records).includes(hookToken));
  });
});
