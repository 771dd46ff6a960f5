/** Agents in processes of their own that are killed at each step of bootstrap and renewal, and started again. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';

import type { AgentAsks } from '../../../src/agents/told.ts';
import { readIdentity, storeIdentity } from '../../../src/programs/agent/identity.ts';
import { newKey, requestFor } from '../../../src/programs/agent/bootstrap.ts';
import { bootstrapTokenHash } from '../../../src/protocol/bootstrap-token.ts';
import {
  type AgentIssuer,
  agentIssuer,
  fakePanel,
  goodAnswer,
  serialOf,
} from '../../support/agent-issuer.ts';
import { type AgentPort, agentPort } from '../../support/agent-port.ts';
import { AgentProcess } from '../../support/agent-process.ts';
import { cleanups } from '../../support/cleanups.ts';
import { eventually } from '../../support/eventually.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { tempDir } from '../../support/runner.ts';

const serverId = 'srv_a';
const dayMs = 24 * 3_600_000;

describe('an agent that is killed', () => {
  const later = cleanups();
  let issuer: AgentIssuer;
  before(async () => {
    issuer = await agentIssuer();
    later(() => issuer.close());
  });

  function folder(t: TestContext): string {
    const dir = tempDir();
    t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
    return dir;
  }

  function agentIn(t: TestContext, dataDir: string, url?: string, token?: string): AgentProcess {
    const file = path.join(dataDir, 'token');
    if (token !== undefined) fs.writeFileSync(file, token);
    const args = url === undefined ? [] : ['--control', url, '--token-file', file];
    const agent = new AgentProcess({ dataDir, args });
    t.after(() => agent.end('SIGKILL'));
    return agent;
  }

  async function portOf(t: TestContext, of: AgentIssuer, asks: AgentAsks = {}): Promise<AgentPort> {
    const port = await agentPort({ authority: of.authority, agents: { asks } });
    t.after(() => port.close());
    return port;
  }

  const connected = (port: AgentPort): Promise<void> =>
    eventually('it is connected', () => port.agents.of(serverId).isConnected);

  it('before its request is answered, gets its certificate when it is started again', async (t) => {
    const port = await portOf(t, issuer);
    const hold = Promise.withResolvers<undefined>();
    const control = { host: '127.0.0.1', port: port.port };
    const panel = await fakePanel(async ({ csr }) => {
      if (panel.asked.length === 1) await hold.promise;
      return goodAnswer(issuer, csr, control);
    });
    t.after(() => panel.close());
    const dataDir = folder(t);
    const agent = agentIn(t, dataDir, panel.url, issuer.token());
    await agent.start();
    await eventually('it has asked', () => panel.asked.length === 1);
    await agent.end('SIGKILL');
    hold.resolve(undefined);
    assert.equal(readIdentity(path.join(dataDir, 'agent')), null);
    await agent.start();
    await connected(port);
    // Another key each time: none of them was kept before it had its certificate.
    assert.notEqual(panel.asked[0]?.csr, panel.asked[1]?.csr);
  });

  it('once its token is used up, says that it needs another one', async (t) => {
    const port = await portOf(t, issuer);
    const control = { host: '127.0.0.1', port: port.port };
    const started: AgentProcess[] = [];
    const used = new Set<string>();
    const panel = await fakePanel(async ({ csr, token }, response) => {
      if (used.has(token)) {
        response.statusCode = 401;
        return { detail: 'It is good for one. Ask the administrator (reissueServerBootstrap).' };
      }
      used.add(token);
      // The certificate is issued, and its answer is lost with the agent.
      if (used.size === 1) await started[0]?.end('SIGKILL');
      return goodAnswer(issuer, csr, control);
    });
    t.after(() => panel.close());
    const dataDir = folder(t);
    const agent = agentIn(t, dataDir, panel.url, issuer.token());
    started.push(agent);
    await agent.start();
    assert.equal((await agent.ended()).signal, 'SIGKILL');
    await agent.start();
    assert.equal((await agent.ended()).code, 3);
    assert.match(agent.output, /good for one.*reissueServerBootstrap/);
    fs.writeFileSync(path.join(dataDir, 'token'), issuer.token());
    await agent.start();
    await connected(port);
  });

  it('once its identity is stored, needs no token, and is not stopped by half a file', async (t) => {
    const port = await portOf(t, issuer);
    const control = { host: '127.0.0.1', port: port.port };
    const panel = await fakePanel(({ csr }) => goodAnswer(issuer, csr, control));
    t.after(() => panel.close());
    const dataDir = folder(t);
    const agent = agentIn(t, dataDir, panel.url, issuer.token());
    await agent.start();
    await connected(port);
    await agent.end('SIGKILL');
    // As at a kill amidst the next write of it.
    fs.writeFileSync(path.join(dataDir, 'agent', 'identity.json.new'), '{"serverId":"srv');
    await agent.start();
    await connected(port);
    assert.equal(panel.asked.length, 1);
  });

  interface Renewing {
    port: AgentPort;
    agent: AgentProcess;
    /** Of the certificate that it has stored. */
    serial: () => string;
    first: string;
    renewals: string[];
  }

  /** One whose certificate is two months old. */
  async function renewing(
    t: TestContext,
    answer: (agent: AgentProcess, certificate: string) => Promise<unknown>,
  ): Promise<Renewing> {
    const clock = new ManualClock();
    const old = await agentIssuer(clock);
    t.after(() => old.close());
    const renewals: string[] = [];
    await clock.advance(Date.now() - clock.now() - 70 * dayMs);
    const key = newKey();
    const certificate = await old.issue(requestFor(key), serverId);
    await clock.advance(70 * dayMs);
    const port = await portOf(t, old, {
      renew: async (_peer, message) => {
        const fresh = await old.issue((message as { csr: string }).csr, serverId);
        renewals.push(serialOf(fresh));
        return answer(agent, fresh);
      },
    });
    const dataDir = folder(t);
    const own = path.join(dataDir, 'agent');
    fs.mkdirSync(own, { mode: 0o700 });
    storeIdentity(own, {
      ...{ serverId, key, certificate, ca: old.authority.caPem, controlUrl: 'http://x/' },
      ...{ control: { host: '127.0.0.1', port: port.port }, tokenHash: bootstrapTokenHash('x') },
    });
    const agent = agentIn(t, dataDir);
    await agent.start();
    const serial = (): string => serialOf(readIdentity(own)?.certificate ?? '');
    return { port, agent, serial, renewals, first: serialOf(certificate) };
  }

  it('before its renewal is answered, goes on with what it had, and renews that', async (t) => {
    let kills = 0;
    const { port, agent, serial, first, renewals } = await renewing(t, async (one, certificate) => {
      kills += 1;
      if (kills === 1) await one.end('SIGKILL');
      return { certificate };
    });
    await eventually('it is killed', () => port.heard.includes(`lost ${serverId}`));
    assert.equal(serial(), first);
    await agent.start();
    await eventually('it is renewed', () => serial() !== first);
    assert.equal(serial(), renewals[1]);
    await connected(port);
  });

  it('right behind its renewal, comes back with the old or the new one', async (t) => {
    let kills = 0;
    const { port, agent, serial, first, renewals } = await renewing(t, (one, certificate) => {
      // The answer is on its way. With the old one it asks again.
      kills += 1;
      if (kills === 1) setImmediate(() => void one.end('SIGKILL'));
      return Promise.resolve({ certificate });
    });
    await eventually('it is killed', () => port.heard.includes(`lost ${serverId}`));
    assert.ok([first, ...renewals].includes(serial()));
    await agent.start();
    await connected(port);
  });

  it('after its renewal, comes back with the new one alone', async (t) => {
    const { port, agent, serial, first, renewals } = await renewing(t, (_one, certificate) =>
      Promise.resolve({ certificate }),
    );
    await eventually('it is renewed', () => serial() !== first);
    await connected(port);
    await agent.end('SIGKILL');
    port.revoked.add(first);
    await agent.start();
    await connected(port);
    assert.deepEqual([serial(), renewals.length], [renewals[0], 1]);
  });

  it('or not, but whose first certificate ends, goes on with what it was renewed to', async (t) => {
    const { port, agent, serial, first } = await renewing(t, (_one, certificate) =>
      Promise.resolve({ certificate }),
    );
    await eventually('it is renewed', () => serial() !== first);
    await connected(port);
    // Both of its connections were made with the first one.
    port.expired.add(first);
    port.agents.review();
    const isBack = (): boolean =>
      port.heard.filter((one) => one.startsWith('connected')).length === 2;
    await eventually('it is back', isBack);
    port.revoked.add(serial());
    port.agents.review();
    assert.equal((await agent.ended()).code, 3);
  });
});
