import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GraphQLResolveInfo } from 'graphql';
import type { AuditedRequest } from '../../../src/auth/audit.ts';
import type { Principal } from '../../../src/auth/callers/principal.ts';
import type { GraphContext } from '../../../src/graphql/context.ts';
import { schema } from '../../../src/graphql/schema/schema.ts';

const mutations = schema.getMutationType()?.getFields() ?? {};
const person: Principal = { kind: 'person', userId: 'usr_1', sessionId: 'ses_1', teamId: 'team_1' };

/** What would be recorded of a mutation; it is not run. */
async function audited(
  name: string,
  args: Record<string, unknown> = {},
  principal = person,
  more: Partial<GraphContext> = {},
): Promise<AuditedRequest> {
  let seen: AuditedRequest | undefined;
  const audit = {
    during: (request: AuditedRequest) => {
      seen = request;
      return Promise.resolve(undefined as never);
    },
  };
  const call = { http: null, signal: null };
  const context = { write: { audit }, principal, via: 'http', call, ...more };
  await mutations[name]?.resolve?.(undefined, args, context, {} as GraphQLResolveInfo);
  assert.ok(seen, `${name} is recorded`);
  return seen;
}

describe('auditMutations()', () => {
  it('records every mutation there is, by its name', async () => {
    assert.ok(Object.keys(mutations).length > 30);
    for (const name of Object.keys(mutations)) assert.equal((await audited(name)).action, name);
  });

  it('records from where a call over MCP came, by which client and tool', async () => {
    const agent = { address: '192.0.2.9', userAgent: 'node', client: 'Bot 1.0', tool: 'stop_app' };
    const call = { http: null, agent, signal: null };
    const seen = await audited('stopApp', { id: 'app_1' }, person, { via: 'mcp', call });
    assert.deepEqual([seen.address, seen.userAgent, seen.via], ['192.0.2.9', 'node', 'mcp']);
    assert.deepEqual([seen.agent?.client, seen.agent?.tool], ['Bot 1.0', 'stop_app']);
    const { agent: none, address } = await audited('stopApp', { id: 'app_1' });
    assert.deepEqual([none, address], [null, '']);
  });

  it('records what shows a secret also when it changes nothing', async () => {
    assert.equal((await audited('revealEnv')).always, true);
    assert.equal((await audited('revealAppDeployHook')).always, true);
    assert.equal((await audited('deleteEnv')).always, false);
  });

  it('tells names and ids, and keeps every other text to itself', async () => {
    const secret = 'hidden';
    const args = {
      appId: 'app_1',
      name: 'shown',
      entries: [{ key: 'KEY', value: secret, isSecret: true, targets: ['production'] }],
      input: { name: 'inner', folderId: 'fld_1', env: [{ key: 'A', value: secret }], replicas: 2 },
      ...{ password: secret, token: secret, code: secret, command: secret, accessKey: secret },
      ...{ currentPassword: secret, newPassword: secret, webhookSecret: secret, username: secret },
      ...{ setupCode: secret, connectionString: secret, compose: secret, startCommand: secret },
    };
    const { input, targetId } = await audited('upsertEnv', args);
    assert.equal(targetId, 'app_1');
    assert.deepEqual(input, {
      appId: 'app_1',
      name: 'shown',
      entries: [{ key: 'KEY', isSecret: true, targets: ['production'] }],
      input: { name: 'inner', folderId: 'fld_1', env: [{ key: 'A' }], replicas: 2 },
    });
  });

  it('tells nothing that somebody typed who is not signed in', async () => {
    const typed = { email: 'perhaps a password', password: 'x', name: 'x' };
    const { input } = await audited('login', typed, { kind: 'anonymous' });
    assert.deepEqual(input, {});
  });

  it('leaves out what an address holds of a password', async () => {
    const repository = 'https://ann:hidden@git.example/a/b@c';
    const { input } = await audited('createApp', { input: { git: { repository } } });
    assert.deepEqual(input, { input: { git: { repository: 'https://git.example/a/b@c' } } });
  });

  it('bounds what it tells', async () => {
    const long = 'x'.repeat(100_000);
    const many = Array.from({ length: 1_000 }, (_, i) => ({ key: `K${String(i)}`, value: long }));
    const { input, targetId } = await audited('upsertEnv', {
      appId: long,
      name: long,
      entries: many,
    });
    assert.ok(JSON.stringify(input).length < 5_000);
    assert.ok((targetId ?? '').length < 100);
  });
});
