/** Owns another server for a test: an agent that a Gangway let in, with a runner of its own. */
import fs from 'node:fs';
import path from 'node:path';

import { AgentProcess } from './agent-process.ts';
import { Client } from './gangway-client.ts';
import { type Gangway, until } from './gangway.ts';
import { runnerOf, signal } from './processes.ts';
import { tempDir } from './runner.ts';

export interface OtherServer {
  serverId: string;
  agent: AgentProcess;
  /** Of what its agent has. */
  dataDir: string;
  /** Visits at its edge. */
  there: Client;
  /** Waits until it is, or is not; by what was seen since then: a Gangway that starts again begins with what it knew. */
  connected: (is: boolean, sinceMs?: number) => Promise<void>;
  end: () => Promise<void>;
}

/** `control`: where its agent connects; default the address of the Gangway, which needs GANGWAY_AGENT_PORT. */
export async function otherServer(
  gangway: Gangway,
  { name = 'other', args = [] }: { name?: string; args?: readonly string[] } = {},
): Promise<OtherServer> {
  const folder = tempDir();
  fs.chmodSync(folder, 0o711);
  const dataDir = path.join(folder, 'data');
  const query =
    'mutation($name: String!) { addServer(name: $name) { server { id } bootstrapToken } }';
  const { addServer } = await gangway.client.must<{
    addServer: { server: { id: string }; bootstrapToken: string };
  }>(query, { name });
  const serverId = addServer.server.id;
  const agent = new AgentProcess({
    dataDir,
    args: ['--control', gangway.url, '--token-file', '-', ...args],
    input: `${addServer.bootstrapToken}\n`,
  });
  const end = async (): Promise<void> => {
    await agent.end('SIGTERM');
    const runner = runnerOf(dataDir);
    if (runner !== undefined) signal(runner.pid, 'SIGTERM');
    await until('its runner is gone', 30_000, () => runnerOf(dataDir) === undefined);
    fs.rmSync(folder, { recursive: true, force: true });
  };
  const connected = (is: boolean, sinceMs = 0): Promise<void> =>
    until(`it is ${is ? '' : 'not '}connected`, 30_000, async () => {
      const { servers } = await gangway.client.must<{
        servers: { id: string; connected: boolean; lastSeenAt: string | null }[];
      }>('{ servers { id connected lastSeenAt } }');
      const one = servers.find(({ id }) => id === serverId);
      return one?.connected === is && Date.parse(one.lastSeenAt ?? '1970-01-01') >= sinceMs;
    });
  try {
    await agent.start();
    await connected(true);
  } catch (error) {
    await end();
    throw error;
  }
  const there = new Client({ url: gangway.url, edgePort: agent.edgePort });
  return { serverId, agent, dataDir, there, connected, end };
}
