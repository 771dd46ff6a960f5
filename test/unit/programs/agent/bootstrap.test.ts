import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { before, describe, it, type TestContext } from 'node:test';

import { systemClock } from '../../../../src/lib/clock.ts';
import { bootstrap, BootstrapRefused } from '../../../../src/programs/agent/bootstrap.ts';
import type { Identity } from '../../../../src/programs/agent/identity.ts';
import { bootstrapTokenHash } from '../../../../src/protocol/bootstrap-token.ts';
import {
  agentIssuer,
  type Asked,
  fakePanel,
  type FakePanel,
  goodAnswer,
} from '../../../support/agent-issuer.ts';
import type { AgentIssuer } from '../../../support/agent-issuer.ts';
import { newAgentKey, requestOf } from '../../../support/agent-requests.ts';
import { cleanups } from '../../../support/cleanups.ts';
import { noLog } from '../../../support/runner.ts';
import type { ServerResponse } from 'node:http';

describe('bootstrap()', () => {
  const later = cleanups();
  let issuer: AgentIssuer;
  before(async () => {
    issuer = await agentIssuer();
    later(() => issuer.close());
  });

  async function panel(
    t: TestContext,
    answer: (asked: Asked, response: ServerResponse) => Promise<unknown>,
  ): Promise<FakePanel> {
    const made = await fakePanel(answer);
    t.after(() => made.close());
    return made;
  }

  const get = (
    controlUrl: string,
    token: string,
    signal = new AbortController().signal,
  ): Promise<Identity> =>
    bootstrap({
      ...{ controlUrl, token, signal, name: 'here', version: '1.2.3', clock: systemClock },
      ...{ logger: noLog, pauseMs: { min: 1, max: 5 } },
    });

  const refused = async (panelOf: FakePanel, why: RegExp, needsToken: boolean): Promise<void> => {
    await assert.rejects(get(panelOf.url, issuer.token()), (error: unknown) => {
      assert.ok(error instanceof BootstrapRefused, String(error));
      assert.match(error.message, why);
      assert.equal(error.needsToken, needsToken);
      return true;
    });
  };

  it('gets a certificate for a key that it keeps, from who is told by the token', async (t) => {
    const { url, asked } = await panel(t, ({ csr }) => goodAnswer(issuer, csr));
    const token = issuer.token();
    const identity = await get(url, token);
    assert.deepEqual([identity.serverId, identity.control.port], ['srv_a', 1]);
    assert.equal(identity.tokenHash, bootstrapTokenHash(token));
    const certificate = new X509Certificate(identity.certificate);
    assert.match(identity.key, /BEGIN PRIVATE KEY/);
    assert.equal(certificate.subject, 'CN=srv_a');
    assert.equal(asked.length, 1);
    assert.deepEqual([asked[0]?.token, asked[0]?.version], [token, '1.2.3']);
    assert.ok(!JSON.stringify(asked).includes('PRIVATE'));
  });

  it('believes nobody whose authority has another key than the token says', async (t) => {
    const other = await agentIssuer();
    t.after(() => other.close());
    await refused(await panel(t, ({ csr }) => goodAnswer(other, csr)), /another key/, false);
  });

  it('takes no certificate of another authority, for another key or another server', async (t) => {
    const other = await agentIssuer();
    t.after(() => other.close());
    const good = (asked: Asked): ReturnType<typeof goodAnswer> => goodAnswer(issuer, asked.csr);
    await refused(
      await panel(t, async (asked) => {
        const { certificate } = await goodAnswer(other, asked.csr);
        return { ...(await good(asked)), certificate };
      }),
      /not of its authority/,
      true,
    );
    await refused(
      await panel(t, () => goodAnswer(issuer, requestOf(newAgentKey(), {}))),
      /for another key/,
      true,
    );
    await refused(
      await panel(t, async (asked) => ({ ...(await good(asked)), serverId: 'srv_b' })),
      /for another server/,
      true,
    );
  });

  it('tells what is refused, and whether another token is needed', async (t) => {
    const answering = (status: number, body: unknown) =>
      panel(t, (_asked, response) => {
        response.statusCode = status;
        return Promise.resolve(body);
      });
    await refused(await answering(401, { detail: 'It was used.' }), /It was used\./, true);
    await refused(await answering(409, { detail: 'Update it.' }), /Update it\./, false);
    await refused(await answering(404, 'nothing'), /404/, false);
    await refused(await answering(200, { serverId: 'srv_a' }), /no Gangway/, false);
    await assert.rejects(get('http://127.0.0.1:1', 'gwb_short'), /no bootstrap token/);
  });

  it('tries again while the control plane is away, has no time, or answers without an end', async (t) => {
    let tries = 0;
    const { url } = await panel(t, async ({ csr }, response) => {
      tries += 1;
      if (tries === 1) throw new Error('cut');
      if (tries === 2) {
        response.statusCode = 503;
        return { detail: 'Later.' };
      }
      if (tries === 3) return 'x'.repeat(100_000);
      return goodAnswer(issuer, csr);
    });
    assert.equal((await get(url, issuer.token())).serverId, 'srv_a');
    assert.equal(tries, 4);
  });

  it('takes the token to nobody else', async (t) => {
    const other = await panel(t, ({ csr }) => goodAnswer(issuer, csr));
    let tries = 0;
    const ending = new AbortController();
    const { url } = await panel(t, (_asked, response) => {
      tries += 1;
      if (tries > 2) ending.abort(new Error('enough'));
      response.writeHead(307, { Location: `${other.url}/api/agent/bootstrap` });
      return Promise.resolve({});
    });
    await assert.rejects(get(url, issuer.token(), ending.signal), /enough/);
    assert.deepEqual(other.asked, []);
  });
});
