/** Many agents at once, each with its own token: nobody gets another's data or pays for another's haste. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { archiveOf, type AppInfo, type Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { type McpAnswer, McpClient, textOf } from '../support/mcp-client.ts';

const agents = 200;
const callsPerMinute = 120;
const callsAtOnce = 4;

let gangway: Gangway;
let maker: Client;
let mcp: McpClient;

before(async () => {
  gangway = await Gangway.open({
    env: {
      GANGWAY_MCP_CALLS_PER_MINUTE: String(callsPerMinute),
      GANGWAY_MCP_CALLS_AT_ONCE: String(callsAtOnce),
    },
  });
  ({ client: maker } = gangway);
  mcp = new McpClient(gangway.url);
});

after(() => gangway.end());

/** An app that builds until it is told not to, and its deployment. */
async function slowApp(
  name: string,
): Promise<{ deploymentId: string; end: () => Promise<unknown> }> {
  const build = { buildCommand: 'sleep 1200', startCommand: 'true' };
  const { id } = await maker.createApp(name, { build });
  await maker.mustUpload(id, archiveOf({ 'index.html': '' }));
  const deploymentId = await maker.redeploy(id);
  const cancel = 'mutation($id: ID!) { cancelDeployment(id: $id) }';
  return { deploymentId, end: () => maker.must(cancel, { id: deploymentId }) };
}

function assertLimited({ status, headers, body }: McpAnswer): void {
  assert.equal(status, 429, body);
  const seconds = Number(headers.get('retry-after'));
  assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60, String(seconds));
}

describe('a fleet of agents', () => {
  it(`gives each of ${String(agents)} its own data, all at once`, async () => {
    const fleet: { token: string; app: AppInfo }[] = [];
    for (let i = 0; i < agents; i += 20) {
      const some = Array.from({ length: 20 }, async (_, j) => {
        const app = await maker.createApp(`App of agent ${String(i + j)}`);
        return { app, token: await maker.token({ appIds: [app.id], name: app.slug }) };
      });
      fleet.push(...(await Promise.all(some)));
    }
    const calls = fleet.flatMap(({ token, app }) =>
      [
        mcp.call(token, 'list_apps', {}),
        mcp.call(token, 'get_app', { appId: app.slug }),
        mcp.call(token, 'graphql_query', { query: '{ apps { nodes { slug } totalCount } }' }),
      ].map(async (calling) => {
        const answer = await calling;
        assert.equal(answer.status, 200, answer.body);
        const slugs = new Set(textOf(answer).match(/app-of-agent-\d+/g));
        assert.deepEqual([...slugs], [app.slug]);
      }),
    );
    await Promise.all(calls);
    const [{ token }, { app }] = [fleet[0], fleet[1]] as [(typeof fleet)[0], (typeof fleet)[0]];
    assert.match(await mcp.fails(token, 'get_app', { appId: app.id }), /no such app/);
  });

  it('holds a token to its calls a minute, and no other', async () => {
    const [hasty, calm] = [await maker.token({}), await maker.token({})];
    let answered = 0;
    const refused = [];
    // No more at once than may be; the bucket fills a little meanwhile.
    while (refused.length === 0 && answered < 10 * callsPerMinute) {
      const some = Array.from({ length: callsAtOnce }, () => mcp.call(hasty, 'list_teams'));
      for (const answer of await Promise.all(some)) {
        if (answer.status === 200) answered++;
        else refused.push(answer);
      }
    }
    assert.ok(refused.length > 0);
    assert.ok(answered >= callsPerMinute, String(answered));
    for (const answer of refused) assertLimited(answer);
    assert.equal((await mcp.call(calm, 'list_teams')).status, 200);
  });

  it('holds a token to its calls at once, until its client stops waiting for them', async () => {
    const { deploymentId, end } = await slowApp('Slow');
    const [waiting, other] = [await maker.token({}), await maker.token({})];
    const args = { deploymentId, timeoutSeconds: 50 };
    const leave = new AbortController();
    const { signal } = leave;
    const wait = async (_: unknown, i: number): Promise<string> => {
      // Half of them wait for events, half for JSON.
      const more = { signal, ...(i % 2 === 0 && { progressToken: i }) };
      try {
        for (;;) {
          const answer = await mcp.call(waiting, 'wait_for_deployment', args, more);
          // A call that asks whether all places are taken may have taken the last one.
          if (answer.status !== 429) return answer.body;
        }
      } catch (error) {
        return (error as Error).name;
      }
    };
    const waits = Array.from({ length: callsAtOnce }, wait);
    await until('one call more is refused', 10_000, async () => {
      const answer = await mcp.call(waiting, 'list_teams');
      if (answer.status === 200) return false;
      assertLimited(answer);
      assert.match(answer.body, /calls under way/);
      return true;
    });
    assert.equal((await mcp.call(other, 'list_teams')).status, 200);
    leave.abort();
    assert.deepEqual(await Promise.all(waits), Array(callsAtOnce).fill('AbortError'));
    await until('it may call again', 10_000, async () => {
      return (await mcp.call(waiting, 'list_teams')).status === 200;
    });
    const { status } = (await maker.deployment(deploymentId)) ?? {};
    assert.match(
      String(status),
      /^(queued|building)$/,
      'who waits does not cancel what it waits for',
    );
    await end();
  });
});
