/** Servers that somebody adds, on a whole instance: what their agents and installers get, also behind crashes. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';

import manifest from '../../package.json' with { type: 'json' };
import { newAgentKey, requestOf } from '../support/agent-requests.ts';
import { cleanups } from '../support/cleanups.ts';
import { Gangway } from '../support/gangway.ts';
import { freePort } from '../support/ports.ts';
import { needs } from '../support/programs.ts';
import { RawClient } from '../support/raw-http.ts';

interface Added {
  server: { id: string };
  bootstrapToken: string;
  installCommand: string;
}
interface ServerView {
  id: string;
  name: string;
  connected: boolean;
  draining: boolean;
  takeover: string | null;
  bootstrapExpiresAt: string | null;
}

describe('servers that somebody adds', () => {
  const later = cleanups();
  let gangway: Gangway;
  let agentPort: number;
  before(async () => {
    agentPort = await freePort();
    gangway = await Gangway.open({ env: { GANGWAY_AGENT_PORT: String(agentPort) } });
    later(() => gangway.end());
  });

  const payload = '{ server { id } bootstrapToken installCommand }';
  async function add(name: string, takeover = false): Promise<Added> {
    const query = `mutation($name: String!, $takeover: Boolean) { addServer(name: $name, takeover: $takeover) ${payload} }`;
    return (await gangway.client.must<{ addServer: Added }>(query, { name, takeover })).addServer;
  }
  async function reissue(id: string): Promise<Added> {
    const query = `mutation($id: ID!) { reissueServerBootstrap(id: $id) ${payload} }`;
    const answer = await gangway.client.must<{ reissueServerBootstrap: Added }>(query, { id });
    return answer.reissueServerBootstrap;
  }
  async function servers(): Promise<ServerView[]> {
    const fields = 'id name connected draining takeover bootstrapExpiresAt';
    const query = `{ servers { ${fields} } }`;
    return (await gangway.client.must<{ servers: ServerView[] }>(query)).servers;
  }
  const view = async (id: string) => (await servers()).find((one) => one.id === id);
  const ask = async (path: string, token: string, body?: unknown) => {
    const response = await fetch(`${gangway.url}${path}`, {
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      headers: { authorization: `Bearer ${token}` },
    });
    const answer = (await response.json()) as Record<string, unknown>;
    return { status: response.status, answer };
  };
  const bootstrap = (token: string) => {
    const csr = requestOf(newAgentKey(), {});
    return ask('/api/agent/bootstrap', token, { csr, name: 'b', version: manifest.version });
  };

  it('gets its certificate, and hears that it has to dial agentPort', async () => {
    const { server, bootstrapToken } = await add('one');
    const { status, answer } = await bootstrap(bootstrapToken);
    assert.equal(status, 200);
    assert.deepEqual(answer['control'], { host: '127.0.0.1', port: agentPort });
    const { subject } = new X509Certificate(String(answer['certificate']));
    assert.equal(subject, `CN=${server.id}`);
  });

  it('are told what a token was used for after kill -9, and take another one', async () => {
    const { server, bootstrapToken } = await add('two', true);
    const fresh = await add('three');
    assert.equal((await bootstrap(bootstrapToken)).status, 200);
    assert.equal((await ask('/api/takeover', bootstrapToken, { state: 'removing' })).status, 200);
    await gangway.restart();
    const used = await bootstrap(bootstrapToken);
    assert.deepEqual([used.status, used.answer['code']], [401, 'UNAUTHENTICATED']);
    assert.match(String(used.answer['detail']), /good for one.*reissueServerBootstrap/);
    // What was not used is as good as before, and the takeover is where it was.
    assert.equal((await bootstrap(fresh.bootstrapToken)).status, 200);
    const { status, answer } = await ask('/api/takeover', bootstrapToken);
    assert.deepEqual([status, answer['state'], answer['serverId']], [200, 'removing', server.id]);
    const again = await reissue(server.id);
    assert.equal((await ask('/api/takeover', bootstrapToken)).status, 401);
    assert.equal((await bootstrap(again.bootstrapToken)).status, 200);
    assert.equal((await view(server.id))?.takeover, 'removing');
    assert.equal((await view(server.id))?.bootstrapExpiresAt, null);
  });

  it('answer to a token before they take a byte of a body', async (t) => {
    const client = new RawClient(gangway.port);
    t.after(() => client.socket.destroy());
    client.write(
      `POST /api/agent/bootstrap HTTP/1.1\r\nHost: 127.0.0.1:${String(gangway.port)}\r\n` +
        `Authorization: Bearer gwb_${'0'.repeat(40)}.${'0'.repeat(43)}\r\nContent-Length: 10000000\r\n\r\n`,
    );
    assert.equal((await client.answer()).status, 401);
  });

  it('drain, and are removed with all that they were given', async () => {
    const { server, bootstrapToken } = await add('four');
    const change = (field: string) => gangway.client.must(`mutation { ${field} }`);
    await change(`drainServer(id: "${server.id}", drain: true) { draining }`);
    assert.equal((await view(server.id))?.draining, true);
    await change(`removeServer(id: "${server.id}")`);
    assert.equal(await view(server.id), undefined);
    assert.equal((await bootstrap(bootstrapToken)).status, 401);
    const none = `mutation { removeServer(id: "${server.id}") }`;
    assert.equal(await gangway.client.fails(none), 'NOT_FOUND');
    const own = 'mutation { drainServer(id: "srv_local", drain: true) { id } }';
    assert.equal(await gangway.client.fails(own), 'CONFLICT');
  });

  const shown = 'are taken over by the command that is shown, up to the agent that cannot be had';
  it(shown, { skip: needs('curl') }, async () => {
    const { server, bootstrapToken, installCommand } = await add("the 'old' one", true);
    assert.ok(installCommand.includes(bootstrapToken) && !installCommand.includes('\n'));
    // The program of this data directory's folder is never there: the installer says so, and the script reports it.
    const dir = `${gangway.dataDir}/no-agent`;
    const run = promisify(execFile)('sh', ['-c', `${installCommand} --data-dir ${dir}/bad:path`]);
    await assert.rejects(run, /takeover: failed: The agent could not be installed/);
    assert.equal((await view(server.id))?.takeover, 'failed');
    assert.equal((await ask('/api/takeover', bootstrapToken)).status, 401);
    // Then the line is for the agent alone.
    assert.match(installCommand, / takeover\.sh --control /);
    assert.match((await reissue(server.id)).installCommand, / install\.sh --control /);
  });

  it('stand in the activity, with who changed what, and without a token', async () => {
    const query = '{ activity(first: 50) { nodes { action actor target details } } }';
    const { activity } = await gangway.client.must<{
      activity: {
        nodes: { action: string; actor: string; target: string | null; details: object }[];
      };
    }>(query);
    const told = activity.nodes.map(({ action, actor, target }) => {
      return `${action} by ${actor.split(':')[0] ?? ''} of ${(target ?? '').replace(/srv_\w+/, 'srv')}`;
    });
    for (const entry of [
      'addServer by person of server:srv one',
      'agent_bootstrap by nobody of server:srv one',
      'takeover by nobody of server:srv two',
      'reissueServerBootstrap by person of server:srv two',
      'drainServer by person of server:srv four',
      'removeServer by person of server:srv four',
    ]) {
      assert.ok(told.includes(entry), `${entry} is not among\n${told.join('\n')}`);
    }
    assert.ok(!JSON.stringify(activity).includes('gwb_'));
    assert.ok(!gangway.output.includes('gwb_'));
  });
});
