/** Owns a server for tests that is connected to a control plane's side of the link, both within this process. */
import type { Duplex } from 'node:stream';
import type { TestContext } from 'node:test';

import type { AgentLink, AgentServices } from '../../src/protocol/agent-link.ts';
import {
  agentPort,
  type AgentPort,
  type AgentPortOptions,
  testAgent,
  type TestAgent,
  type TestAgentOptions,
} from './agent-port.ts';
import { eventually } from './eventually.ts';
import { slowLine, type LineOptions, type SlowLine } from './slow-line.ts';

export interface Linked {
  port: AgentPort;
  agent: TestAgent;
  link: AgentLink;
  line: SlowLine;
}

/** A server `srv_a` that is connected over a line. */
export async function linked(
  t: TestContext,
  services: Partial<AgentServices>,
  given: { line?: LineOptions; port?: AgentPortOptions; agent?: TestAgentOptions } = {},
): Promise<Linked> {
  const port = await agentPort(given.port);
  t.after(() => port.close());
  const line = await slowLine(() => port.port, given.line);
  t.after(() => line.close());
  const agent = testAgent(
    { authority: port.authority, port: line.port },
    port.issue('srv_a'),
    { calls: {}, streams: {}, ...services },
    given.agent,
  );
  t.after(() => agent.close());
  const link = port.agents.of('srv_a');
  await eventually('it is connected', () => link.isConnected);
  return { port, agent, link, line };
}

export async function textOf(stream: Duplex): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

export const echo = (_head: unknown, stream: Duplex): void => {
  stream.on('error', () => undefined);
  stream.pipe(stream);
};
