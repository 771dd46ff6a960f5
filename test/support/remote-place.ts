/** Owns another server for a test: an agent in a process of its own, with its runner, and a driver over the link. */
import fs from 'node:fs';
import path from 'node:path';

import type { Driver } from '../../src/drivers/driver.ts';
import {
  createRemoteDriver,
  type RemoteDriverOptions,
} from '../../src/drivers/remote/remote-driver.ts';
import { agentPackage } from '../../src/programs/agent-package/package.ts';
import { storeIdentity } from '../../src/programs/agent/identity.ts';
import type { AgentLink } from '../../src/protocol/agent-link.ts';
import { agentPort, type AgentPort } from './agent-port.ts';
import { AgentProcess } from './agent-process.ts';
import { eventually } from './eventually.ts';
import { noLog, processPlace, type ProcessPlace, ready, tempDir } from './runner.ts';
import { slowLine, type LineOptions, type SlowLine } from './slow-line.ts';

export interface RemotePlace extends Omit<ProcessPlace, 'open'> {
  port: AgentPort;
  line: SlowLine;
  link: AgentLink;
  open(options?: Partial<RemoteDriverOptions>): Driver;
  /** As kill -9 does; resolves when it is gone. */
  killAgent: () => Promise<void>;
  startAgent: () => Promise<void>;
}

const serverId = 'srv_other';

export interface RemotePlaceOptions extends LineOptions {
  /** Whether the agent is the one file that servers fetch, not that of a clone. */
  isPackaged?: boolean;
}

export async function remotePlace(options: RemotePlaceOptions = {}): Promise<RemotePlace> {
  const port = await agentPort();
  const line = await slowLine(() => port.port, options);
  const dataDir = tempDir();
  const { key, chain } = port.issue(serverId);
  fs.mkdirSync(path.join(dataDir, 'agent'), { mode: 0o700 });
  storeIdentity(path.join(dataDir, 'agent'), {
    ...{ serverId, key, certificate: chain, ca: port.authority.root },
    ...{ control: { host: '127.0.0.1', port: line.port }, controlUrl: 'http://127.0.0.1/' },
    tokenHash: 'none',
  });
  const link = port.agents.of(serverId);
  const agent = new AgentProcess({
    dataDir,
    ...(options.isPackaged && { command: [packaged(dataDir)] }),
  });
  const open = (more: Partial<RemoteDriverOptions> = {}): Driver =>
    createRemoteDriver({ link, logger: noLog, isOwn: () => true, ...more });
  const startAgent = async (): Promise<void> => {
    await agent.start();
    await eventually('the agent is connected', () => link.isConnected);
  };
  await startAgent();
  const driver = open();
  const local = processPlace({ dataDir });
  const { specOf, node, variables } = local;
  return {
    ...{ port, line, link, dataDir, driver, open, specOf, node, variables },
    killRunner: () => local.killRunner(),
    replaceRunner: (service) => local.replaceRunner(service),
    reopen: () => ready(open()),
    startAgent,
    killAgent: async () => {
      await agent.end('SIGKILL');
    },
    async close() {
      await driver.close();
      await agent.end('SIGTERM');
      await line.close();
      await port.close();
      await local.close();
    },
  };
}

function packaged(dataDir: string): string {
  const file = path.join(dataDir, 'agent.mjs');
  fs.writeFileSync(file, agentPackage().code);
  return file;
}
