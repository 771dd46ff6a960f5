import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { typeFor } from '../../../../src/programs/edge/pages.ts';
import { defaultEdgeSettings } from '../../../../src/protocol/app-edge-settings.ts';
import type { Vacancy } from '../../../../src/protocol/workload.ts';
import { EdgePlace } from '../../../support/edge-place.ts';
import { freePort } from '../../../support/ports.ts';

const words: [Vacancy, RegExp][] = [
  ['not_deployed', /not deployed yet/],
  ['first_deployment', /is being deployed for the first time/],
  ['first_deployment_failed', /first deployment of this app failed/],
  ['starting', /is starting/],
  ['ended', /ended unexpectedly and is being restarted/],
  ['stopped', /is stopped/],
];

describe('pages of the edge', () => {
  let place: EdgePlace;
  beforeEach(async () => {
    place = await new EdgePlace().open();
  });
  afterEach(() => place.close());

  const vacant = (vacancy: Vacancy, ...targets: { host: string; port: number }[]): void => {
    place.edge.setRoutes([{ host: 'a.localhost', targets, vacancy }]);
  };

  it('say why an app takes no requests', async () => {
    for (const [vacancy, sentence] of words) {
      vacant(vacancy);
      const { status, headers, body } = await place.ask();
      assert.equal(status, 503, vacancy);
      assert.match(body, sentence);
      assert.match(headers['content-type'] ?? '', /^text\/html/);
      assert.equal(headers['cache-control'], 'no-store');
      assert.ok(Number(headers['retry-after']) > 0);
      const requestId = String(headers['x-request-id']);
      assert.match(requestId, /^[0-9a-f-]{36}$/);
      assert.ok(body.includes(requestId));
      assert.notEqual((await place.ask()).headers['x-request-id'], requestId);
    }
  });

  it('are JSON or a line of text for who does not accept HTML, and nothing for HEAD', async () => {
    const app = { id: 'app_1', name: 'Müllers <Shop>' };
    place.edge.setRoutes([{ host: 'a.localhost', targets: [], vacancy: 'stopped', app }]);
    const page = await place.ask();
    assert.ok(page.body.includes('Müllers &#60;Shop&#62;'), page.body);
    const { status, headers, body } = await place.ask({ headers: { accept: 'text/plain' } });
    assert.equal(status, 503);
    assert.equal(headers['content-type'], 'text/plain; charset=utf-8');
    const requestId = String(headers['x-request-id']);
    assert.equal(body, `This app is stopped.\nApp Müllers <Shop>\nRequest ${requestId}\n`);
    const json = await place.ask({ headers: { accept: 'application/json' } });
    assert.equal(json.headers['content-type'], 'application/json; charset=utf-8');
    assert.deepEqual(JSON.parse(json.body), {
      status: 503,
      title: 'Service Unavailable',
      detail: 'This app is stopped.',
      app: 'Müllers <Shop>',
      requestId: json.headers['x-request-id'],
    });
    const head = await place.ask({ method: 'HEAD' });
    assert.deepEqual([head.status, head.body], [503, '']);
  });

  it('stand in the place of an app that is maintained, and say what its team says', async () => {
    const { port } = await place.app((_req, res) => res.end('app'));
    const maintained = (maintenanceText: string | null): void => {
      const settings = { ...defaultEdgeSettings, maintenance: true, maintenanceText };
      const targets = [{ host: '127.0.0.1', port }];
      place.edge.setRoutes([{ host: 'a.localhost', targets, settings }]);
    };
    maintained(null);
    const { status, headers, body } = await place.ask();
    assert.equal(status, 503);
    assert.match(body, /is being maintained/);
    assert.equal(headers['retry-after'], '60');
    maintained('Back <b>soon</b> & "new"');
    const told = await place.ask();
    assert.ok(told.body.includes('Back &#60;b&#62;soon&#60;/b&#62; &#38; &#34;new&#34;'));
    const plain = await place.ask({ headers: { accept: 'text/plain' } });
    assert.ok(plain.body.startsWith('Back <b>soon</b> & "new"\n'));
    place.routeTo(port);
    assert.equal((await place.ask()).body, 'app');
  });

  it('say of an app that ended that it is restarted, as long as it refuses', async () => {
    const refusing = { host: '127.0.0.1', port: await freePort() };
    vacant('ended', refusing);
    const { status, body } = await place.ask();
    assert.equal(status, 503);
    assert.match(body, /is being restarted/);
    const { port } = await place.app((_req, res) => res.end('again'));
    vacant('ended', refusing, { host: '127.0.0.1', port });
    assert.equal((await place.ask()).body, 'again');
    const { port: torn } = await place.app((req) => req.socket.destroy());
    vacant('ended', { host: '127.0.0.1', port: torn });
    assert.equal((await place.ask({ method: 'POST' }, 'x')).status, 502);
  });

  it('say so to who asks for a WebSocket', async () => {
    vacant('first_deployment');
    const head =
      'GET / HTTP/1.1\r\nHost: a.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
    const answer = await place.raw(head);
    assert.match(answer, /^HTTP\/1\.1 503 /);
    assert.match(answer, /deployed for the first time/);
  });

  it('call an app not running where a runner of another version left words unknown here', async () => {
    vacant('constructor' as Vacancy);
    const { status, body } = await place.ask();
    assert.equal(status, 503);
    assert.match(body, /The app is not running/);
  });
});

describe('typeFor()', () => {
  const cases: [string | undefined, string][] = [
    [undefined, 'text/html'],
    ['*/*', 'text/html'],
    ['text/html,application/xhtml+xml;q=0.9', 'text/html'],
    ['Text/*; q=0.2', 'text/html'],
    ['application/json, text/html', 'text/html'],
    ['application/json', 'application/json'],
    ['application/json, text/plain, */*', 'application/json'],
    ['application/*', 'application/json'],
    ['text/plain, image/*', 'text/plain'],
    ['text/html;q=0, */*', 'text/plain'],
    ['text/html; q=0.0', 'text/plain'],
    ['', 'text/plain'],
  ];
  for (const [accept, expected] of cases) {
    it(`is ${expected} for ${accept ?? 'no header'}`, () => {
      assert.equal(typeFor(accept), expected);
    });
  }
});
