/** A whole instance that is killed at each step of an agent's bootstrap and renewal: what is left works, or says what to do. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'node:test';

import { readIdentity } from '../../src/programs/agent/identity.ts';
import { AgentProcess } from '../support/agent-process.ts';
import { cleanups } from '../support/cleanups.ts';
import { Gangway, until } from '../support/gangway.ts';
import { freePort } from '../support/ports.ts';
import { tempDir } from '../support/runner.ts';
import { dayMs, minuteMs, TimeMachine } from '../support/time-machine.ts';
import { type WithholdingLine, withholdingLine } from '../support/withholding-line.ts';

const patienceMs = 30_000;

interface Added {
  server: { id: string };
  bootstrapToken: string;
}

describe('an instance that is killed', () => {
  const later = cleanups();
  const folder = tempDir();
  const time = new TimeMachine(path.join(folder, 'time'));
  let gangway: Gangway;
  /** To its panel. */
  let line: WithholdingLine;
  let agent: AgentProcess;
  let serverId: string;

  before(async () => {
    later(() => fs.rmSync(folder, { recursive: true, force: true }));
    const env = { GANGWAY_AGENT_PORT: String(await freePort()) };
    gangway = await Gangway.open(time.options(env));
    later(() => gangway.end());
    line = await withholdingLine(() => gangway.port);
    later(() => line.close());
    const { addServer } = await mutate<{ addServer: Added }>('addServer(name: "one")');
    serverId = addServer.server.id;
    agent = agentWith(addServer.bootstrapToken);
  });

  const mutate = <T>(field: string): Promise<T> =>
    gangway.client.must<T>(`mutation { ${field} { server { id } bootstrapToken } }`);
  const token = path.join(folder, 'token');
  const dataDir = path.join(folder, 'data');

  function agentWith(bootstrapToken: string): AgentProcess {
    fs.writeFileSync(token, bootstrapToken, { mode: 0o600 });
    const control = `http://127.0.0.1:${String(line.port)}`;
    const made = new AgentProcess({ dataDir, args: ['--control', control, '--token-file', token] });
    later(() => made.end('SIGKILL'));
    return made;
  }

  /** How often it was let in. */
  const lettings = (): number => gangway.logged('agent_connected').length;
  const letIn = (before: number): Promise<void> =>
    until('it is let in', patienceMs, () => lettings() > before);
  const certificate = (): X509Certificate =>
    new X509Certificate(readIdentity(path.join(dataDir, 'agent'))?.certificate ?? '');

  /** Kills it as soon as something is kept back, and starts it again with a line that keeps nothing. */
  async function killedWhile(withheld: 'requests' | 'answers', start: () => Promise<void>) {
    const isWithheld = Promise.withResolvers<undefined>();
    line.onWithheld = () => isWithheld.resolve(undefined);
    line.withholds = withheld;
    await start();
    await isWithheld.promise;
    await gangway.kill9();
    line.withholds = null;
    line.cut();
    await gangway.start();
  }

  it('before it hears of a bootstrap, lets the agent in once it is back', async () => {
    await killedWhile('requests', () => agent.start());
    await letIn(0);
    assert.equal(certificate().subject, `CN=${serverId}`);
  });

  it('behind a bootstrap, and before the agent hears of it, tells that another token is needed', async () => {
    await agent.end('SIGKILL');
    fs.rmSync(path.join(dataDir, 'agent', 'identity.json'));
    const field = `reissueServerBootstrap(id: "${serverId}")`;
    type Answer = { reissueServerBootstrap: Added };
    const lost = (await mutate<Answer>(field)).reissueServerBootstrap;
    agent = agentWith(lost.bootstrapToken);
    await killedWhile('answers', () => agent.start());
    assert.equal((await agent.ended()).code, 3);
    assert.match(agent.output, /good for one.*reissueServerBootstrap/);
    const fresh = (await mutate<Answer>(field)).reissueServerBootstrap;
    agent = agentWith(fresh.bootstrapToken);
    const before = lettings();
    await agent.start();
    await letIn(before);
  });

  it('at any moment of a renewal, knows the agent by the certificate that it has', async () => {
    const first = certificate().serialNumber;
    await time.jump(65 * dayMs);
    // Whenever an agent comes it is told what time it is, and asks.
    for (const afterMs of [0, 20, 60, 150]) {
      await agent.end('SIGKILL');
      const before = lettings();
      await agent.start();
      await letIn(before);
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      await gangway.kill9();
      await gangway.start();
      await letIn(before + 1);
      // So that one which was issued just now is not in the way.
      await time.jump(2 * minuteMs);
    }
    await agent.end('SIGKILL');
    const before = lettings();
    await agent.start();
    await until('it is renewed', patienceMs, () => certificate().serialNumber !== first);
    await letIn(before);
    assert.ok(certificate().validFromDate.getTime() > Date.now() + 60 * dayMs);
  });
});
