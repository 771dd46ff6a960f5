/** An agent in a process of its own before a control plane whose clock was wrong, or is. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';

import { AgentAuthority } from '../../../src/agents/authority.ts';
import { newKey, requestFor } from '../../../src/programs/agent/bootstrap.ts';
import { storeIdentity } from '../../../src/programs/agent/identity.ts';
import type { GoodCertificate, ServerRecord } from '../../../src/store/records/records.ts';
import { put } from '../../../src/store/records/table.ts';
import { tables } from '../../../src/store/records/tables.ts';
import { agentPort } from '../../support/agent-port.ts';
import { AgentProcess } from '../../support/agent-process.ts';
import { eventually } from '../../support/eventually.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemoryStore } from '../../support/memory-store.ts';
import { plainSecrets } from '../../support/plain-secrets.ts';
import { tempDir } from '../../support/runner.ts';

const serverId = 'srv_a';
const dayMs = 24 * 3_600_000;

it('an agent is lost to no wrong clock of the control plane, but to a revocation', async (t) => {
  const clock = new ManualClock(Date.now());
  const store = new MemoryStore();
  const authority = new AgentAuthority({ reader: store, secrets: plainSecrets, clock });
  t.after(() => authority.close());
  store.write([put(tables.agentAuthority, await authority.make())]);
  const list = (certificates: GoodCertificate[]): void => {
    const state = { connected: false, draining: false, version: null, lastSeenAtMs: null };
    const given = { bootstrap: null, problem: null, takeover: null, teamId: null, createdAtMs: 0 };
    const record: ServerRecord = {
      ...{ id: serverId, name: 'one', runtime: 'process', ...state },
      agent: { ...given, certificates },
    };
    store.write([put(tables.servers, record)]);
  };
  // It is issued by a clock that is ahead, and then set right.
  await clock.jump(100 * dayMs);
  const key = newKey();
  const issued = await authority.issueAgentCertificate(requestFor(key), serverId);
  list([issued]);
  await clock.jump(-100 * dayMs);

  const port = await agentPort({
    authority,
    agents: {
      admit: (certificate) => authority.admit(certificate),
      expired: (certificate) => authority.expired(certificate),
    },
  });
  t.after(() => port.close());
  const dataDir = tempDir();
  t.after(() => fs.rmSync(dataDir, { recursive: true, force: true }));
  const own = path.join(dataDir, 'agent');
  fs.mkdirSync(own, { mode: 0o700 });
  storeIdentity(own, {
    ...{ serverId, key, certificate: issued.certificatePem, ca: authority.caPem },
    ...{ control: { host: '127.0.0.1', port: port.port }, controlUrl: 'http://x/' },
    tokenHash: 'x',
  });
  const agent = new AgentProcess({ dataDir });
  t.after(() => agent.end('SIGKILL'));
  await agent.start();
  const connected = (): Promise<void> =>
    eventually('it is connected', () => port.agents.of(serverId).isConnected);
  await connected();

  await clock.jump(200 * dayMs);
  port.agents.review();
  await eventually('it hears why', () => agent.output.includes('"reason":"expired"'));
  assert.ok(port.heard.some((one) => one.startsWith('refused srv_a: The certificate')));
  // It did not end by itself.
  assert.equal((await agent.end('SIGTERM')).code, 0);

  await clock.jump(-200 * dayMs);
  await agent.start();
  await connected();
  list([]);
  port.agents.review();
  assert.equal((await agent.ended()).code, 3);
});
