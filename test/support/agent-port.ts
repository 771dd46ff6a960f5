/** Owns a control plane's side of the link for tests, over real TLS on loopback, and agents that dial it. */
import { connect, type TLSSocket } from 'node:tls';

import type { AgentAuthority } from '../../src/agents/authority.ts';
import { ConnectedAgents } from '../../src/agents/connected-agents.ts';
import type { ConnectedAgentsOptions } from '../../src/agents/connected-agents.ts';
import { AgentListener, type AgentListenerOptions } from '../../src/agents/listener.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { Logger } from '../../src/lib/log.ts';
import { Dialer, type DialerOptions } from '../../src/programs/agent/link/dialer.ts';
import { Voice } from '../../src/programs/agent/link/voice.ts';
import type { AgentServices, Lane } from '../../src/protocol/agent-link.ts';
import { laneHosts } from '../../src/protocol/agent-wire.ts';
import type { EdgeCertificate } from '../../src/protocol/workload.ts';
import { CertificateAuthority } from './certificate-authority.ts';
import { noLog } from './runner.ts';

export interface AgentPort {
  authority: CertificateAuthority;
  agents: ConnectedAgents;
  port: number;
  /** What happened, such as `connected srv_a`. */
  heard: string[];
  /** Serials that are good no more. */
  revoked: Set<string>;
  /** Serials whose time is over. */
  expired: Set<string>;
  /** Of a server. */
  issue(serverId: string): EdgeCertificate;
  close(): Promise<void>;
}

export interface AgentPortOptions {
  agents?: Partial<ConnectedAgentsOptions>;
  listener?: Partial<AgentListenerOptions>;
  logger?: Logger;
  /** Instead of one by openssl; then `issue` and `authority` are not to be used. */
  authority?: Pick<AgentAuthority, 'caPem' | 'controlCertificate'>;
}

export async function agentPort(options: AgentPortOptions = {}): Promise<AgentPort> {
  const authority = new CertificateAuthority();
  const own = options.authority?.controlCertificate() ?? authority.issue(Object.values(laneHosts));
  const heard: string[] = [];
  const [revoked, expired] = [new Set<string>(), new Set<string>()];
  const serverIn = (subject: string) => /^CN=(srv_\w+)$/.exec(subject)?.[1] ?? null;
  const { logger = noLog } = options;
  const agents = new ConnectedAgents({
    ...{ version: '0.1.0', clock: systemClock, logger, asks: {} },
    admit: ({ subject, serialNumber: serial }) =>
      revoked.has(serial) || expired.has(serial) ? null : serverIn(subject),
    expired: ({ subject, serialNumber }) => (expired.has(serialNumber) ? serverIn(subject) : null),
    onConnected: (id, { version }) => heard.push(`connected ${id} ${version}`),
    onLost: (id) => heard.push(`lost ${id}`),
    onRefused: (id, sentence) => heard.push(`refused ${id}: ${sentence}`),
    ...options.agents,
  });
  const listener = new AgentListener({
    certificate: { key: own.key, chain: own.chain },
    ca: options.authority?.caPem ?? authority.root,
    welcome: (socket, isOurs) => agents.welcome(socket, isOurs),
    logger,
    ...options.listener,
  });
  const port = await listener.open('127.0.0.1', 0);
  return {
    ...{ authority, agents, port, heard, revoked, expired },
    issue: (serverId) => authority.issue([serverId]),
    async close() {
      agents.abort();
      await listener.close();
      authority.close();
    },
  };
}

export interface TestAgent {
  voice: Voice;
  dialers: readonly Dialer[];
  close(): Promise<void>;
}

export type TestAgentOptions = Partial<Omit<DialerOptions, 'lane'>> & {
  version?: string;
  run?: string;
  lanes?: readonly Lane[];
};

/** Both connections of an agent, within this process. */
export function testAgent(
  { authority, port }: Pick<AgentPort, 'authority' | 'port'>,
  certificate: EdgeCertificate,
  services: AgentServices = { calls: {}, streams: {} },
  options: TestAgentOptions = {},
): TestAgent {
  const voice = new Voice();
  const {
    version = '0.1.0',
    run = Math.random().toString(36),
    lanes = ['control', 'bulk'],
  } = options;
  const { key, chain } = certificate;
  const dialers = lanes.map(
    (lane) =>
      new Dialer({
        ...{ lane, port, services, voice, clock: systemClock, logger: noLog, host: '127.0.0.1' },
        credentials: () => ({ key, certificate: chain, ca: authority.root }),
        answer: { version, run, host: 'test' },
        onHello: () => undefined,
        onGoodbye: () => undefined,
        pauseMinMs: 20,
        pauseMaxMs: 200,
        ...options,
      }),
  );
  for (const dialer of dialers) dialer.start();
  return {
    voice,
    dialers,
    async close() {
      await Promise.all(dialers.map((dialer) => dialer.close()));
    },
  };
}

/** Dials as an agent does, and leaves the rest to who asks. */
export function dial(
  { authority, port }: Pick<AgentPort, 'authority' | 'port'>,
  certificate: EdgeCertificate | null,
  lane: Lane = 'control',
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      ...{ port, host: '127.0.0.1', ca: authority.root, ALPNProtocols: ['h2'] },
      ...(certificate && { key: certificate.key, cert: certificate.chain }),
      servername: laneHosts[lane],
    });
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      socket.off('error', reject);
      socket.on('error', () => undefined);
      resolve(socket);
    });
  });
}
