/** Agents on a whole instance: how they come, come back after every crash, and go. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { before, describe, it } from 'node:test';

import manifest from '../../package.json' with { type: 'json' };
import { AgentProcess } from '../support/agent-process.ts';
import { cleanups } from '../support/cleanups.ts';
import { found } from '../support/eventually.ts';
import { Gangway } from '../support/gangway.ts';
import { freePort } from '../support/ports.ts';
import { tempDir } from '../support/runner.ts';

interface ServerView {
  id: string;
  connected: boolean;
  version: string | null;
  lastSeenAt: string | null;
}

interface Added {
  server: { id: string };
  bootstrapToken: string;
}

const payload = '{ server { id } bootstrapToken }';

describe('agents', () => {
  const later = cleanups();
  let gangway: Gangway;
  let agentPort: number;
  let agent: AgentProcess;
  let dataDir: string;
  let serverId: string;

  before(async () => {
    agentPort = await freePort();
    const env = { GANGWAY_AGENT_PORT: String(agentPort), GANGWAY_AGENT_HOST: '0.0.0.0' };
    gangway = await Gangway.open({ env });
    later(() => gangway.end());
    dataDir = tempDir();
    later(() => fs.rmSync(dataDir, { recursive: true, force: true }));
  });

  const mutate = <T>(field: string): Promise<T> => gangway.client.must<T>(`mutation { ${field} }`);

  async function server(id = serverId): Promise<ServerView | undefined> {
    const query = '{ servers { id connected version lastSeenAt } }';
    const { servers } = await gangway.client.must<{ servers: ServerView[] }>(query);
    return servers.find((one) => one.id === id);
  }

  const connected = (is: boolean): Promise<ServerView> =>
    found(`it is ${is ? '' : 'not '}connected`, async () => {
      const one = await server();
      return one?.connected === is && one;
    });

  const listens = (host: string): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = net.connect(agentPort, host);
      socket.once('error', () => resolve(false));
      socket.once('connect', () => {
        socket.destroy();
        resolve(true);
      });
    });

  /** `command`: instead of that of the clone. */
  function agentWith(token: string, command?: readonly string[]): AgentProcess {
    const file = path.join(dataDir, 'token');
    fs.writeFileSync(file, `${token}\n`, { mode: 0o600 });
    const made = new AgentProcess({
      dataDir: path.join(dataDir, 'agent-data'),
      args: ['--control', gangway.url, '--token-file', file],
      ...(command && { command }),
    });
    later(() => made.end('SIGKILL'));
    return made;
  }

  it('listen at agentHost only while an agent may come', async () => {
    assert.equal(await listens('127.0.0.1'), false);
    const { addServer } = await mutate<{ addServer: Added }>(`addServer(name: "one") ${payload}`);
    serverId = addServer.server.id;
    assert.equal(await listens('127.0.0.1'), false);
    agent = agentWith(addServer.bootstrapToken);
    await agent.start();
    await connected(true);
    assert.equal(await listens('127.0.0.9'), true);
  });

  it('are shown with their release and when they were seen, and keep their key to themselves', async () => {
    const shown = await server();
    assert.equal(shown?.version, manifest.version);
    assert.ok(Date.now() - Date.parse(shown.lastSeenAt ?? '') < 60_000);
    const own = path.join(dataDir, 'agent-data', 'agent');
    for (const name of ['identity.json', 'runner.key']) {
      assert.equal(fs.statSync(path.join(own, name)).mode & 0o777, 0o600, name);
    }
    assert.equal(fs.statSync(own).mode & 0o777, 0o700);
    assert.ok(!agent.output.includes('PRIVATE KEY') && !agent.output.includes('gwb_'));
  });

  it('come back after kill -9 of either side, without their token', async () => {
    await agent.end('SIGKILL');
    await connected(false);
    fs.rmSync(path.join(dataDir, 'token'));
    await agent.start();
    await connected(true);
    await gangway.restart();
    await connected(true);
    assert.equal((await agent.end('SIGTERM')).code, 0);
    await connected(false);
  });

  it('run once in a data directory', async () => {
    await agent.start();
    await connected(true);
    const second = new AgentProcess({ dataDir: path.join(dataDir, 'agent-data') });
    await second.start();
    assert.equal((await second.ended()).code, 1);
    assert.match(second.output, /Another agent runs/);
    assert.equal((await server())?.connected, true);
  });

  it('end with a sentence when their certificate is revoked, and come again with another token, by the program that is fetched', async () => {
    const { reissueServerBootstrap: again } = await mutate<{ reissueServerBootstrap: Added }>(
      `reissueServerBootstrap(id: "${serverId}") ${payload}`,
    );
    assert.equal((await server())?.connected, false);
    assert.equal((await agent.ended()).code, 3);
    assert.match(agent.output, /not good any more.*What runs here goes on.*reissueServerBootstrap/);
    const program = path.join(dataDir, 'agent.mjs');
    const fetched = await fetch(`${gangway.url}/api/agent/program`);
    fs.writeFileSync(program, Buffer.from(await fetched.arrayBuffer()));
    agent = agentWith(again.bootstrapToken, [program]);
    await agent.start();
    await connected(true);
  });

  it('are cut off at once when their server is removed', async () => {
    await mutate(`removeServer(id: "${serverId}")`);
    assert.equal(await server(), undefined);
    assert.equal((await agent.ended()).code, 3);
    await found('nobody listens', async () => !(await listens('127.0.0.1')));
    // The identity that is left is good for nothing.
    await agent.start();
    await found('it tries in vain', () => agent.output.includes('agent_not_connected'));
    await agent.end('SIGTERM');
  });

  it('say what to do without a token, and with one that is used up or none', async () => {
    const fresh = new AgentProcess({ dataDir: path.join(dataDir, 'fresh') });
    await fresh.start();
    assert.equal((await fresh.ended()).code, 3);
    assert.match(fresh.output, /needs --token-file.*reissueServerBootstrap/);
    const { addServer } = await mutate<{ addServer: Added }>(`addServer(name: "two") ${payload}`);
    const tokens = { used: addServer.bootstrapToken, none: 'gwb_x.y' };
    await gangway.client.must(
      `mutation { reissueServerBootstrap(id: "${addServer.server.id}") { server { id } } }`,
    );
    for (const token of Object.values(tokens)) {
      const options = { dataDir: path.join(dataDir, 'other'), input: `${token}\n` };
      const args = ['--control', gangway.url, '--token-file', '-'];
      const one = new AgentProcess({ ...options, args });
      await one.start();
      assert.equal((await one.ended()).code, 3, one.output);
      assert.ok(!one.output.includes(token));
    }
  });
});
