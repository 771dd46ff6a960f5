/** What an app wants of the edge, set over the API and kept where Gangway is not there. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type AppInfo, archiveOf, type Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';

const server = `require('node:http').createServer((request, response) => {
  if (request.url !== '/never') response.end(String(request.headers['x-request-id']));
}).listen(process.env.PORT);`;
const files = { Procfile: 'web: node server.js', 'server.js': server };
const change = `mutation($id: ID!, $edge: EdgeSettingsInput) { updateApp(id: $id, edge: $edge) {
  edge { maintenance maintenanceText idleSeconds totalSeconds maxBodyMb maxConnections hsts accessLog } } }`;

describe('an app with settings of the edge', () => {
  let gangway: Gangway;
  let client: Client;
  let app: AppInfo;
  before(async () => {
    gangway = await Gangway.open();
    client = gangway.client;
    app = await client.runningApp('Shop', archiveOf(files));
  });
  after(() => gangway.end());

  const set = async (edge: object): Promise<object> => {
    const variables = { id: app.id, edge };
    return (await client.must<{ updateApp: { edge: object } }>(change, variables)).updateApp.edge;
  };

  it('shows that it is maintained, also while Gangway restarts, and is back without a restart', async () => {
    assert.deepEqual(await set({ maintenance: true, maintenanceText: 'Back at nine.' }), {
      ...{
        maintenance: true,
        maintenanceText: 'Back at nine.',
        idleSeconds: 600,
        totalSeconds: null,
      },
      ...{ maxBodyMb: null, maxConnections: null, hsts: null, accessLog: false },
    });
    const isMaintained = async (): Promise<boolean> => {
      const { status, text } = await client.visit(app.slug);
      return status === 503 && text.includes('Back at nine.') && text.includes('Shop');
    };
    assert.ok(await isMaintained());
    await gangway.stop();
    assert.ok(await isMaintained());
    await gangway.start();
    assert.ok(await isMaintained());
    await set({ maintenance: null });
    assert.equal((await client.visit(app.slug)).status, 200);
    const query = 'query($id: ID!) { app(id: $id) { restarts deployments { nodes { status } } } }';
    const { app: now } = await client.must<{ app: object }>(query, { id: app.id });
    assert.deepEqual(now, { restarts: 0, deployments: { nodes: [{ status: 'ready' }] } });
  });

  it('is not waited for longer than it wants', async () => {
    const isMaintained = async (): Promise<boolean> =>
      (await client.visit(app.slug)).status === 503;
    // That shows when the edge has heard of both.
    await set({ totalSeconds: 1, maintenance: true });
    await until('the page', 10_000, isMaintained);
    await set({ maintenance: false });
    await until('the app', 10_000, async () => !(await isMaintained()));
    const { status, text } = await client.visit(app.slug, '/never');
    assert.equal(status, 504);
    assert.match(text, /did not answer in time/);
    assert.match(text, /Shop/);
  });

  it('takes no settings that make no sense', async () => {
    for (const edge of [{ idleSeconds: 0 }, { maxBodyMb: -1 }, { maintenanceText: 'a\nb' }]) {
      assert.equal(await client.fails(change, { id: app.id, edge }), 'BAD_USER_INPUT');
    }
  });
});
