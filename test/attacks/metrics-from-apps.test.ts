/** An app asks the panel of its own machine for what loopback once was let in for. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { archiveOf } from '../support/gangway-client.ts';
import { Gangway } from '../support/gangway.ts';
import { layerSettings } from '../support/layer-settings.ts';

/** Answers with the statuses of all it tried; 0 where nobody answered. */
const spy = `const http = require('node:http');
const port = Number(process.env.PANEL_PORT);
const tries = [];
for (const host of ['127.0.0.1', '::1']) {
  for (const headers of [
    {}, { host: 'localhost' }, { host: 'panel.example.test' }, { 'x-forwarded-for': '127.0.0.1' },
    { authorization: 'Bearer x' }, { authorization: 'Bearer' },
  ]) tries.push({ host, port, path: '/metrics', headers, timeout: 5000 });
}
const ask = (options) => new Promise((resolve) => {
  const asking = http.get(options, (answer) => { answer.resume(); resolve(answer.statusCode); });
  asking.on('timeout', () => asking.destroy()).on('error', () => resolve(0));
});
http.createServer((_, answer) => {
  Promise.all(tries.map(ask)).then((statuses) => answer.end(JSON.stringify(statuses)));
}).listen(process.env.PORT);`;

for (const [held, without] of Object.entries(layerSettings)) {
  it(`an app reads no metrics of the service, with ${held}`, async (t) => {
    const gangway = await Gangway.open({
      env: {
        GANGWAY_PUBLIC_URL: 'https://panel.example.test',
        GANGWAY_ISOLATION_WITHOUT: without.join(','),
      },
    });
    t.after(() => gangway.end());
    const app = await gangway.client.runningApp(
      'Spy',
      archiveOf({ Procfile: 'web: node spy.js', 'spy.js': spy }),
      { env: [{ key: 'PANEL_PORT', value: String(gangway.port) }] },
    );
    const { text } = await gangway.client.visit(app.slug);
    const statuses = JSON.parse(text) as number[];
    assert.equal(statuses.length, 12);
    assert.ok(
      statuses.every((status) => status === 0 || status === 401),
      text,
    );
    // The owner reads them from the same address.
    assert.equal((await gangway.client.ask('/metrics')).status, 200);
  });
}
