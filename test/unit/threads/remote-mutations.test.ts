import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { AuditedRequest } from '../../../src/auth/audit.ts';
import { ServiceError } from '../../../src/lib/errors.ts';
import { type GraphqlGateway, startGraphql } from '../../support/graphql-gateway.ts';

const agent = {
  address: '192.0.2.7',
  userAgent: 'agent/1',
  client: 'A client 1.0',
  tool: 'deploy',
};

/** Accounts that tell what they were given. */
function fakeAccounts() {
  const origins: unknown[] = [];
  const login = (
    { email }: { email: string },
    origin: unknown,
  ): Promise<{ cookies: string[]; requiresTwoFactor: boolean }> => {
    origins.push(origin);
    if (email === 'often') {
      return Promise.reject(new ServiceError('RATE_LIMITED', 'Later.', { retryAfterS: 42 }));
    }
    return Promise.resolve({ cookies: [`a=${email}; Path=/`, 'b=2'], requiresTwoFactor: true });
  };
  return { accounts: { login } as never, origins };
}

async function start(mutationsOverPort: boolean) {
  const { accounts, origins } = fakeAccounts();
  const audited: AuditedRequest[] = [];
  const audit = {
    during: <T>(request: AuditedRequest, work: () => T | Promise<T>): Promise<T> => {
      audited.push(request);
      return Promise.resolve(work());
    },
  };
  return { api: await startGraphql({ accounts, audit, mutationsOverPort }), origins, audited };
}

const login = (email: string): string =>
  `mutation { login(email: "${email}", password: "b") { requiresTwoFactor } }`;

const requests: Record<string, { query: string; variables?: object; as?: string }> = {
  'a change': {
    query: 'mutation($name: String!) { createFolder(name: $name) { name } }',
    variables: { name: 'Shop \u00e9' },
    as: 'usr_ann',
  },
  'one that is refused': {
    query: 'mutation { createFolder(name: "x") { id } }',
  },
  'one of several that is refused': {
    query: 'mutation { a: createFolder(name: "y") { name } b: createFolder(name: "") { name } }',
    as: 'usr_ann',
  },
  'one that signs in': { query: login('ann') },
  'two that sign in': {
    query: `mutation { a: ${login('x').slice(11, -2)} b: ${login('y').slice(11)}`,
  },
  'one that is asked too often': { query: login('often') },
  'one that is no document': { query: 'mutation { login }' },
  'a query': { query: '{ needsSetup }' },
};

describe('RemoteMutations', () => {
  let direct: Awaited<ReturnType<typeof start>>;
  let remote: Awaited<ReturnType<typeof start>>;
  before(async () => {
    direct = await start(false);
    remote = await start(true);
  });
  after(() => Promise.all([direct.api.close(), remote.api.close()]));

  for (const [what, { query, variables, as }] of Object.entries(requests)) {
    it(`answers ${what} as the thread of the actors itself`, async () => {
      const ask = async (api: GraphqlGateway): Promise<unknown> => {
        const cookie = as === undefined ? 'pending=1' : api.cookie(as);
        const response = await api.post({ query, variables }, { cookie, 'user-agent': 'tests' });
        const { headers, status } = response;
        const text = (await response.text()).replace(/"requestId":"\w+"/g, '');
        return [status, text, headers.getSetCookie(), headers.get('retry-after')];
      };
      assert.deepEqual(await ask(remote.api), await ask(direct.api));
    });
  }

  it('takes along where the request comes from', () => {
    assert.ok(direct.origins.length > 0);
    assert.deepEqual(remote.origins, direct.origins);
  });

  it('takes along who asks, also over MCP, for what is written down of it', async () => {
    const { graphql, fixture } = remote.api;
    fixture.accounts.addToken('tok_x', 'usr_ann', 'team_a', { allTeams: true });
    const principal = {
      kind: 'token',
      userId: 'usr_ann',
      tokenId: 'tok_x',
      teamId: 'team_a',
      confined: true,
    } as const;
    const query = 'mutation { createFolder(name: "Agents") { name } }';
    const answer = await graphql.execute(query, {}, principal, { agent, charsMax: 10 });
    assert.equal(
      Buffer.from(answer.body).toString(),
      '{"data":{"createFolder":{"name":"Agents"}}}',
    );
    const { action, via, agent: told, principal: who } = remote.audited.at(-1) ?? assert.fail();
    assert.deepEqual([action, via, told, who], ['createFolder', 'mcp', agent, principal]);
  });
});
