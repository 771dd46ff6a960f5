/** OAuth as a client and a person see it: from registration to the end of a grant. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  auth,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
} from '@modelcontextprotocol/client';
import * as oidc from 'openid-client';
import { Client, owner } from '../support/gangway-client.ts';
import { Gangway } from '../support/gangway.ts';
import * as oauth from '../support/oauth.ts';
import { redirectUri } from '../support/oauth.ts';

let gangway: Gangway;
let clientId: string;

before(async () => {
  gangway = await Gangway.open();
  clientId = (await oauth.register(gangway.url)).body.client_id;
});

after(() => gangway.end());

// Marked as deprecated there so that nobody uses it but over loopback, as here.
const overHttp: (config: oidc.Configuration) => void = Reflect.get(oidc, 'allowInsecureRequests');

const authorizeUrl = (query: string): string => `/api/auth/oauth2/authorize?${query}`;

const works = (accessToken: string): Promise<boolean> => oauth.works(gangway, accessToken);

describe('discovery', () => {
  it('names the issuer alike at both places, and what the server can', async () => {
    const issuer = `${gangway.url}/api/auth`;
    for (const path of ['', '/api/auth']) {
      const answer = await fetch(`${gangway.url}/.well-known/oauth-authorization-server${path}`);
      assert.equal(answer.headers.get('access-control-allow-origin'), '*');
      const metadata = (await answer.json()) as Record<string, unknown>;
      assert.equal(metadata['issuer'], issuer);
      assert.deepEqual(metadata['code_challenge_methods_supported'], ['S256']);
      assert.equal(metadata['client_id_metadata_document_supported'], true);
      assert.equal(metadata['authorization_response_iss_parameter_supported'], true);
    }
  });

  it('names the MCP endpoint as the resource', async () => {
    for (const path of ['', '/api/mcp']) {
      const answer = await fetch(`${gangway.url}/.well-known/oauth-protected-resource${path}`);
      const metadata = (await answer.json()) as Record<string, unknown>;
      assert.equal(metadata['resource'], `${gangway.url}/api/mcp`);
      assert.deepEqual(metadata['authorization_servers'], [`${gangway.url}/api/auth`]);
    }
  });

  it('mounts nothing else of the library', async () => {
    const paths = ['/sign-in/email', '/get-session', '/oauth2/get-clients', '/admin/oauth2/x'];
    for (const path of paths) {
      const { status } = await gangway.client.ask(`/api/auth${path}`, { method: 'POST' });
      assert.equal(status, 404, path);
    }
  });

  it('answers the preflight of a page of any origin', async () => {
    const answer = await fetch(`${gangway.url}/api/auth/oauth2/token`, {
      method: 'OPTIONS',
      headers: { origin: 'https://a.test', 'access-control-request-method': 'POST' },
    });
    assert.equal(answer.status, 204);
    assert.equal(answer.headers.get('access-control-allow-origin'), '*');
    assert.equal(answer.headers.get('access-control-allow-credentials'), null);
  });
});

describe('clients that others wrote', () => {
  it('lets openid-client connect, call the API, refresh and revoke', async () => {
    const config = await oidc.dynamicClientRegistration(
      new URL(`${gangway.url}/api/auth`),
      { redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' },
      oidc.None(),
      { algorithm: 'oauth2', execute: [overHttp] },
    );
    const verifier = oidc.randomPKCECodeVerifier();
    const state = oidc.randomState();
    const url = oidc.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: 'openid email offline_access view_logs',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      resource: gangway.url,
    });
    const back = await oauth.redirectAfter(oauth.consent(gangway.client, url.href));
    const tokens = await oidc.authorizationCodeGrant(config, back, {
      pkceCodeVerifier: verifier,
      expectedState: state,
    });
    assert.equal(await works(tokens.access_token), true);
    const { me } = await gangway.client.must<{ me: { id: string } }>('{ me { id } }');
    const info = await oidc.fetchUserInfo(config, tokens.access_token, me.id);
    assert.equal(info.email, owner.email);
    assert.equal(info.name, undefined);
    const again = await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '');
    assert.equal(await works(again.access_token), true);
    await oidc.tokenRevocation(config, again.refresh_token ?? '');
    assert.equal(await works(again.access_token), false);
    assert.equal(await works(tokens.access_token), false);
  });

  it("lets the MCP SDK's own flow get a token, from the server's address alone", async () => {
    let verifier = '';
    let location = '';
    let information: oauth.Registered | undefined;
    let tokens: { access_token: string } | undefined;
    let discovered: OAuthDiscoveryState | undefined;
    const provider: OAuthClientProvider = {
      redirectUrl: redirectUri,
      clientMetadata: { client_name: 'SDK', redirect_uris: [redirectUri] },
      clientInformation: () => information,
      saveClientInformation: (one) => {
        information = one as oauth.Registered;
      },
      tokens: () => undefined,
      discoveryState: () => discovered,
      saveDiscoveryState: (one) => {
        discovered = one;
      },
      saveTokens: (one) => {
        tokens = one;
      },
      redirectToAuthorization: (url) => {
        location = url.href;
      },
      saveCodeVerifier: (one) => {
        verifier = one;
      },
      codeVerifier: () => verifier,
    };
    const serverUrl = `${gangway.url}/api/mcp`;
    assert.equal(await auth(provider, { serverUrl }), 'REDIRECT');
    const back = await oauth.redirectAfter(oauth.consent(gangway.client, location));
    const authorizationCode = back.searchParams.get('code') ?? '';
    const iss = back.searchParams.get('iss') ?? '';
    assert.equal(await auth(provider, { serverUrl, authorizationCode, iss }), 'AUTHORIZED');
    assert.ok(tokens);
    // It asked for the MCP endpoint, so it is good for nothing else.
    assert.equal(await works(tokens.access_token), false);
  });

  it('takes what real clients register, loopback redirects without a type among it', async () => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ redirect_uris: ['http://localhost:6274/oauth/callback'] });
    const path = '/api/auth/oauth2/register';
    const { status } = await gangway.client.ask(path, { method: 'POST', headers, body });
    assert.equal(status, 201);
  });
});

describe('authorization', () => {
  it('leads to sign in first, and back', async () => {
    const query = oauth.authorizationQuery(clientId, oauth.pkce().challenge);
    const led = await new Client(gangway).ask(authorizeUrl(query));
    const to = new URL(led.headers.get('location') ?? '', gangway.url);
    assert.equal(to.pathname, '/login');
    assert.equal(
      new URL(to.searchParams.get('next') ?? '', gangway.url).searchParams.get('state'),
      'a-state',
    );
  });

  it('gives what the person left ticked, with state and issuer, and shows it as a grant', async () => {
    const { verifier, challenge } = oauth.pkce();
    const query = oauth.authorizationQuery(clientId, challenge);
    const answer = oauth.consent(gangway.client, authorizeUrl(query), { keep: ['view_logs'] });
    const to = await oauth.redirectAfter(answer);
    assert.equal(to.origin + to.pathname, redirectUri);
    assert.equal(to.searchParams.get('state'), 'a-state');
    assert.equal(to.searchParams.get('iss'), `${gangway.url}/api/auth`);
    const form = { grant_type: 'authorization_code', client_id: clientId, code_verifier: verifier };
    const code = to.searchParams.get('code') ?? '';
    const tokens = await oauth.tokensOf(
      oauth.post(gangway.url, 'token', { ...form, code, redirect_uri: redirectUri }),
    );
    assert.equal(tokens.scope, 'view_logs offline_access');
    const asClient = { authorization: `Bearer ${tokens.access_token}` };
    const may = 'mutation { createApp(input: { name: "x", source: UPLOAD }) { id } }';
    assert.equal(await new Client(gangway).fails(may, {}, asClient), 'FORBIDDEN');
    assert.equal(await new Client(gangway).fails('{ myGrants { id } }', {}, asClient), 'FORBIDDEN');
    const { myGrants, apiTokens } = await gangway.client.must<{
      myGrants: { id: string; clientName: string; clientHost: string; capabilities: string[] }[];
      apiTokens: { id: string }[];
    }>('{ myGrants { id clientName clientHost capabilities } apiTokens { id } }');
    const grant = myGrants.find(
      (one) => one.capabilities.join() === 'view_logs' && one.clientName === 'A client',
    );
    assert.equal(grant?.clientHost, '127.0.0.1:53127');
    assert.ok(apiTokens.some((one) => one.id === grant.id));
    await gangway.client.must('mutation($id: ID!) { revokeGrant(id: $id) }', { id: grant.id });
    assert.equal(await works(tokens.access_token), false);
    const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
    const late = await oauth.post(gangway.url, 'token', { ...refresh, client_id: clientId });
    assert.equal(late.body['error'], 'invalid_grant');
  });

  it('tells the client when the person refuses', async () => {
    const query = oauth.authorizationQuery(clientId, oauth.pkce().challenge);
    const refused = oauth.consent(gangway.client, authorizeUrl(query), { decision: 'deny' });
    const to = await oauth.redirectAfter(refused);
    assert.equal(to.searchParams.get('error'), 'access_denied');
    assert.equal(to.searchParams.get('state'), 'a-state');
    assert.equal(to.searchParams.get('iss'), `${gangway.url}/api/auth`);
  });
});

describe('tokens', () => {
  it('ends the grant when a code comes twice', async () => {
    const { redeem } = await oauth.authorized(gangway.client, clientId);
    const tokens = await oauth.tokensOf(redeem());
    assert.equal(await works(tokens.access_token), true);
    const again = await redeem();
    assert.equal(again.body['error'], 'invalid_grant');
    assert.equal(await works(tokens.access_token), false);
  });

  it('ends the grant when a refresh token comes twice, and no other grant', async () => {
    const other = await oauth.tokensOf((await oauth.authorized(gangway.client, clientId)).redeem());
    const first = await oauth.tokensOf((await oauth.authorized(gangway.client, clientId)).redeem());
    const refresh = (token: string): ReturnType<typeof oauth.post> =>
      oauth.post(gangway.url, 'token', {
        grant_type: 'refresh_token',
        refresh_token: token,
        client_id: clientId,
      });
    const second = await oauth.tokensOf(refresh(first.refresh_token));
    assert.equal(await works(second.access_token), true);
    assert.equal((await refresh(first.refresh_token)).body['error'], 'invalid_grant');
    assert.equal(await works(second.access_token), false);
    assert.equal((await refresh(second.refresh_token)).body['error'], 'invalid_grant');
    assert.equal(await works(other.access_token), true);
    await oauth.tokensOf(refresh(other.refresh_token));
  });

  const mismatches: [string, Record<string, string>, string][] = [
    ['another verifier', { code_verifier: 'x'.repeat(43) }, 'invalid_grant'],
    ['another redirect URI', { redirect_uri: 'http://127.0.0.1:1/callback' }, 'invalid_grant'],
    ['another resource', { resource: 'https://other.test' }, 'invalid_target'],
  ];
  for (const [name, over, error] of mismatches) {
    it(`refuses a code with ${name}`, async () => {
      const { redeem } = await oauth.authorized(gangway.client, clientId);
      const { status, body } = await redeem(over);
      assert.equal(status, 400);
      assert.equal(body['error'], error);
    });
  }

  it('refuses the code of another client', async () => {
    const { body } = await oauth.register(gangway.url);
    const { redeem } = await oauth.authorized(gangway.client, clientId);
    assert.equal((await redeem({ client_id: body.client_id })).body['error'], 'invalid_grant');
  });

  it('keeps a token for MCP away from GraphQL and the deploy hook', async () => {
    const over = { resource: `${gangway.url}/api/mcp` };
    const { redeem } = await oauth.authorized(gangway.client, clientId, over);
    const tokens = await oauth.tokensOf(redeem());
    assert.equal(await works(tokens.access_token), false);
    const hook = await fetch(`${gangway.url}/api/apps/app_x/deploy-hook/x`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tokens.access_token}` },
    });
    assert.equal(hook.status, 401);
  });

  it('lets grants outlive the session they were given in, but not the revocation of their token', async () => {
    const person = new Client(gangway);
    await person.must(
      `mutation($email: String!, $password: String!) {
        login(email: $email, password: $password) { requiresTwoFactor } }`,
      owner,
    );
    const { redeem } = await oauth.authorized(person, clientId, { scope: 'openid offline_access' });
    const tokens = await oauth.tokensOf(redeem());
    await person.must('mutation { logout }');
    assert.equal(await works(tokens.access_token), true);
    const userinfo = (): Promise<Response> =>
      fetch(`${gangway.url}/api/auth/oauth2/userinfo`, {
        headers: { authorization: `Bearer ${tokens.access_token}` },
      });
    assert.equal((await userinfo()).status, 200);
    const form = { token: tokens.access_token, client_id: clientId };
    const foreign = await oauth.post(gangway.url, 'revoke', { ...form, client_id: 'somebody' });
    assert.notEqual(foreign.status, 200);
    assert.equal(await works(tokens.access_token), true);
    assert.equal((await oauth.post(gangway.url, 'revoke', form)).status, 200);
    assert.equal(await works(tokens.access_token), false);
    assert.equal((await userinfo()).status, 401);
  });

  it('tells a client with a secret about its own tokens, and nobody else', async () => {
    const { body } = await oauth.register(gangway.url, {
      token_endpoint_auth_method: 'client_secret_post',
    });
    const secret = { client_id: body.client_id, client_secret: body.client_secret ?? '' };
    const { redeem } = await oauth.authorized(gangway.client, body.client_id);
    const { access_token: token } = await oauth.tokensOf(redeem(secret));
    const told = await oauth.post(gangway.url, 'introspect', { token, ...secret });
    assert.equal(told.body['active'], true);
    assert.equal((await oauth.post(gangway.url, 'introspect', { token })).status, 401);
    const wrong = { ...secret, client_secret: 'wrong' };
    assert.equal((await oauth.post(gangway.url, 'introspect', { token, ...wrong })).status, 401);
  });
});
