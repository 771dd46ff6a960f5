import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Authenticator } from '../../../../src/auth/callers/authenticator.ts';
import { anonymous } from '../../../../src/auth/callers/principal.ts';
import type { Principal } from '../../../../src/auth/callers/principal.ts';
import { Callers } from '../../../../src/gateway/credentials.ts';
import { connectRoutes } from '../../../../src/gateway/transports/mcp-connect.ts';
import { schema } from '../../../../src/graphql/schema/schema.ts';
import { Rights } from '../../../../src/mcp/rights.ts';
import { toolGroups } from '../../../../src/protocol/mcp-address.ts';
import { createTools } from '../../../../src/mcp/tools/tools.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { AccountsFixture } from '../../../support/accounts-fixture.ts';
import { startGateway } from '../../../support/gateway.ts';
import type { TestGateway } from '../../../support/gateway.ts';

const name = `Home <script>"'&`;
const form = { 'content-type': 'application/x-www-form-urlencoded' };

/** A cookie says who it is: `usr_owner`, and after a slash the acting team. */
const authenticator: Authenticator = {
  byCookie({ cookieHeader }) {
    const [userId = '', teamId = null] = cookieHeader.split('/');
    if (!userId.startsWith('usr_')) return anonymous;
    return { kind: 'person', userId, sessionId: 'ses_1', teamId } satisfies Principal;
  },
  byToken: () => ({ kind: 'token', userId: 'usr_owner', tokenId: 'tok_1', teamId: 'home' }),
  stillValid: () => true,
};

describe('the page that connects MCP clients', () => {
  const accounts = new AccountsFixture();
  let gateway: TestGateway;
  let publicUrl = '';
  let told: unknown[] = [];

  before(async () => {
    for (const id of ['owner', 'viewer', 'agents', 'none']) accounts.addUser(`usr_${id}`);
    accounts.addTeam('home', 'usr_owner');
    accounts.addTeam('second', 'usr_agents');
    accounts.addTeam('strict', 'usr_agents');
    accounts.addMember('home', 'usr_viewer', 'viewer');
    accounts.addMember('home', 'usr_agents', ['manage_mcp']);
    gateway = await startGateway(
      connectRoutes({
        reader: accounts.store,
        actors: accounts.runtime,
        causes: {
          amend: ({ input }) => {
            told.push(input);
          },
        },
        callers: new Callers({
          authenticator,
          publicUrl: () => ({ url: 'https://panel.example.com', configured: true }),
        }),
        publicUrl: () => publicUrl,
      }),
    );
  });
  after(async () => {
    await gateway.close();
    await accounts.close();
  });
  beforeEach(() => {
    told = [];
    publicUrl = 'https://panel.example.com';
    change('home', { name, mcpEnabled: true });
    change('strict', { requireTwoFactor: true });
  });

  function change(id: string, fields: object): void {
    const team = accounts.store.get(tables.teams, id);
    assert.ok(team);
    accounts.store.write([put(tables.teams, { ...team, ...fields })]);
  }

  const isOn = (id = 'home'): boolean | undefined =>
    accounts.store.get(tables.teams, id)?.mcpEnabled;

  const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${gateway.url}${path}`, { redirect: 'manual', headers });

  async function pageFor(cookie: string, path = '/connect'): Promise<string> {
    const page = await get(path, { cookie });
    assert.equal(page.status, 200);
    return (await page.text()).replaceAll(/\s+/g, ' ');
  }

  const post = (
    cookie: string,
    body: string,
    headers: Record<string, string> = {},
    path = '/connect?team=home',
  ): Promise<Response> =>
    fetch(`${gateway.url}${path}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { ...form, cookie, ...headers },
      body,
    });

  describe('GET /connect', () => {
    it('leads who is nobody to signing in, and back', async () => {
      for (const [path, next] of [
        ['/connect', '/connect'],
        ['/connect?team=a&tools=apps', '/connect?team=a&tools=apps'],
      ] as const) {
        const { status, headers } = await get(path);
        assert.equal(status, 303);
        assert.equal(headers.get('location'), `/login?next=${encodeURIComponent(next)}`);
      }
    });

    it('is no page for tokens', async () => {
      const page = await get('/connect', {
        authorization: 'Bearer gwy_a',
        cookie: 'usr_owner/home',
      });
      assert.equal(page.status, 403);
    });

    it('shows the address and what to paste, and escapes every value', async () => {
      publicUrl = `https://panel.example.com"><img src=x>`;
      const text = await pageFor('usr_owner/home');
      assert.match(text, /MCP is <b>on<\/b> in Home &#60;script&#62;&#34;&#39;&#38;\./);
      assert.match(text, /https:\/\/panel\.example\.com&#34;&#62;&#60;img src=x&#62;\/api\/mcp/);
      assert.doesNotMatch(text, /<img|Home <script>/);
      for (const client of ['Claude Code', 'Cursor', 'VS Code', 'Codex', 'Gemini CLI', 'curl']) {
        assert.ok(text.includes(client), client);
      }
    });

    it('lets its own script in, to this origin alone, and no form send the token', async () => {
      const page = await get('/connect', { cookie: 'usr_owner/home' });
      const policy = page.headers.get('content-security-policy') ?? '';
      const text = await page.text();
      const [, nonce = '', src = ''] =
        /<script nonce="([^"]+)" defer src="([^"]+)">/.exec(text) ?? [];
      assert.ok(policy.includes(`script-src 'nonce-${nonce}'; connect-src 'self';`), policy);
      assert.match(policy, /^default-src 'none'/);
      assert.doesNotMatch(policy, /unsafe/);
      const script = await get(src);
      assert.equal(script.status, 200);
      assert.equal(script.headers.get('content-type'), 'text/javascript; charset=utf-8');
      assert.match(script.headers.get('cache-control') ?? '', /immutable/);
      assert.equal((await get('/connect/assets/connect-0.js')).status, 404);
      const test = /<form id="test"[^]*?<\/form>/.exec(text)?.[0] ?? '';
      assert.match(test, / hidden>/);
      assert.doesNotMatch(test, / name=| action=/);
    });

    it('offers the switch to who manages the team, and tells the others whom to ask', async () => {
      const switchIn = async (cookie: string): Promise<boolean> =>
        (await pageFor(cookie)).includes('<form method="post" action="/connect?team=home">');
      assert.equal(await switchIn('usr_owner/home'), true);
      assert.equal(await switchIn('usr_viewer/home'), false);
      change('home', { mcpEnabled: false });
      assert.match(await pageFor('usr_owner/home'), /name="enabled" value="true"/);
      assert.match(
        await pageFor('usr_viewer/home'),
        /MCP is <b>off<\/b> in Home [^.]*\. Whoever holds <b>manage_team<\/b> can switch it on\./,
      );
    });

    it('says who is refused for want of manage_mcp', async () => {
      const lacking = /do not hold <b>manage_mcp<\/b>/;
      assert.doesNotMatch(await pageFor('usr_owner/home'), lacking);
      assert.doesNotMatch(await pageFor('usr_agents/home'), lacking);
      assert.match(await pageFor('usr_viewer/home'), lacking);
    });

    it('shows another of the own teams, and none that is not', async () => {
      const text = await pageFor('usr_agents/home', '/connect?team=second');
      assert.match(text, /MCP is <b>on<\/b> in second\./);
      assert.match(text, /X-Service-Team&#34;: &#34;second&#34;/);
      assert.doesNotMatch(await pageFor('usr_owner/home'), /X-Service-Team&#34;/);
      for (const team of ['second', 'nowhere', '%22%3E']) {
        const page = await get(`/connect?team=${team}`, { cookie: 'usr_owner/home' });
        assert.equal(page.status, 403);
      }
    });

    it('tells what a team asks for first', async () => {
      const text = await pageFor('usr_agents/home', '/connect?team=strict');
      assert.match(text, /requires two-factor/);
      assert.doesNotMatch(text, /MCP is <b>/);
    });

    it('has a page for who is in no team', async () => {
      assert.match(await pageFor('usr_none'), /You are in no team yet/);
    });

    it('offers the groups that have tools', () => {
      const { store } = accounts;
      const rights = new Rights({ reader: store, subscribe: (one) => store.subscribe(one) });
      const groups = new Set(createTools(schema, rights).map(({ group }) => group));
      rights.close();
      assert.deepEqual([...toolGroups].sort(), [...groups].sort());
    });

    it('narrows every address by what is ticked, and by nothing else', async () => {
      const path = '/connect?tools=logs&tools=apps&tools=nonsense%22&readonly=1';
      const text = await pageFor('usr_owner/home', path);
      const url = 'https://panel.example.com/api/mcp?tools=apps,logs&#38;readonly=1';
      assert.ok(text.includes(`<pre tabindex="0">${url}</pre>`));
      assert.ok(text.includes('data-path="/api/mcp?tools=apps,logs&#38;readonly=1"'));
      assert.doesNotMatch(text, /nonsense/);
      assert.match(text, /name="tools" value="apps" checked/);
      assert.match(text, /name="readonly" value="1" checked/);
    });
  });

  describe('POST /connect', () => {
    it('switches MCP off and on by the team itself, and leads back', async () => {
      const answer = await post('usr_owner/home', 'enabled=false');
      assert.equal(answer.status, 303);
      assert.equal(answer.headers.get('location'), '/connect?team=home');
      assert.equal(isOn(), false);
      await post('usr_owner/home', 'enabled=true', {}, '/connect');
      assert.equal(isOn(), true);
      assert.deepEqual(told, [{ enabled: false }, { enabled: true }]);
    });

    it('asks for manage_team in the very team', async () => {
      for (const cookie of [
        'usr_viewer/home',
        'usr_agents/home',
        'usr_agents/second',
        'usr_none',
      ]) {
        assert.equal((await post(cookie, 'enabled=false')).status, 403, cookie);
      }
      const elsewhere = await post('usr_owner/home', 'enabled=false', {}, '/connect?team=second');
      assert.equal(elsewhere.status, 403);
      const strict = await post('usr_agents/home', 'enabled=false', {}, '/connect?team=strict');
      assert.equal(strict.status, 403);
      assert.deepEqual([isOn(), isOn('second'), isOn('strict')], [true, true, true]);
    });

    it('is for people: neither nobody nor a token', async () => {
      assert.equal((await post('', 'enabled=false')).status, 401);
      const bearer = { authorization: 'Bearer gwy_a' };
      assert.equal((await post('usr_owner/home', 'enabled=false', bearer)).status, 401);
      assert.equal(isOn(), true);
    });

    it('takes no form of another site, and no form that says neither', async () => {
      for (const headers of [
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { origin: 'https://evil.example' },
        { origin: 'null' },
      ]) {
        assert.equal((await post('usr_owner/home', 'enabled=false', headers as never)).status, 403);
      }
      for (const body of ['', 'enabled=1', 'enabled=off']) {
        assert.equal((await post('usr_owner/home', body)).status, 400);
      }
      const json = { 'content-type': 'application/json' };
      assert.equal((await post('usr_owner/home', '{}', json)).status, 415);
      assert.equal(isOn(), true);
    });
  });
});
