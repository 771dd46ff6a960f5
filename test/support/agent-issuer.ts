/** Owns an authority for agents, and what a control plane answers to their bootstrap, for tests without one. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { X509Certificate } from 'node:crypto';

import { AgentAuthority } from '../../src/agents/authority.ts';
import { systemClock, type Clock } from '../../src/lib/clock.ts';
import type { BootstrapAnswer } from '../../src/protocol/agent-bootstrap.ts';
import { newBootstrapToken } from '../../src/protocol/bootstrap-token.ts';
import { put } from '../../src/store/records/table.ts';
import { tables } from '../../src/store/records/tables.ts';
import { MemoryStore } from './memory-store.ts';
import { plainSecrets } from './plain-secrets.ts';

export interface AgentIssuer {
  authority: AgentAuthority;
  /** One that a bootstrap is authenticated by. */
  token(): string;
  /** For the request of an agent. */
  issue(csr: string, serverId: string): Promise<string>;
  close(): Promise<void>;
}

export async function agentIssuer(clock: Clock = systemClock): Promise<AgentIssuer> {
  const store = new MemoryStore();
  const authority = new AgentAuthority({ reader: store, secrets: plainSecrets, clock });
  store.write([put(tables.agentAuthority, await authority.make())]);
  return {
    authority,
    token: () => newBootstrapToken(authority.caKeyHash),
    issue: async (csr, serverId) =>
      (await authority.issueAgentCertificate(csr, serverId)).certificatePem,
    close: () => authority.close(),
  };
}

export interface Asked {
  token: string;
  csr: string;
  version: string;
}

export interface FakePanel {
  url: string;
  /** Of all requests so far. */
  asked: Asked[];
  close(): Promise<void>;
}

/** Answers `POST /api/agent/bootstrap` by `answer`; what that throws cuts the connection. */
export async function fakePanel(
  answer: (asked: Asked, response: ServerResponse) => Promise<unknown>,
): Promise<FakePanel> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    void told(request).then(async (one) => {
      asked.push(one);
      try {
        const body = await answer(one, response);
        if (!response.writableEnded) response.end(JSON.stringify(body));
      } catch {
        response.destroy();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    asked,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function told(request: IncomingMessage): Promise<Asked> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
  const { csr, version } = JSON.parse(text) as { csr: string; version: string };
  const token = (request.headers.authorization ?? '').replace('Bearer ', '');
  return { token, csr, version };
}

/** As a control plane answers that lets a server in. */
export async function goodAnswer(
  issuer: AgentIssuer,
  csr: string,
  control = { host: '127.0.0.1', port: 1 },
  serverId = 'srv_a',
): Promise<BootstrapAnswer> {
  const certificate = await issuer.issue(csr, serverId);
  return { serverId, certificate, ca: issuer.authority.caPem, control };
}

export function serialOf(certificate: string): string {
  return new X509Certificate(certificate).serialNumber;
}
