import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { EdgePlace } from '../../../support/edge-place.ts';

const prefix = '/.well-known/acme-challenge/';

describe('An edge that is asked by a certificate authority', () => {
  let place: EdgePlace;
  beforeEach(async () => {
    place = await new EdgePlace().open();
  });
  afterEach(() => place.close());

  const asked = (path: string, host: string) => place.ask({ path, headers: { host } });

  it('answers for hosts that certificates are ordered for, whatever becomes of other requests', async () => {
    const { port } = await place.app((_, res) => res.end('of the app'));
    const targets = [{ host: '127.0.0.1', port }];
    place.edge.setRoutes([
      { host: 'shop.example', targets, acmeThumbprint: 'print' },
      { host: 'idle.example', targets: [], acmeThumbprint: 'print' },
      { host: 'own.example', targets },
    ]);
    for (const host of ['shop.example', 'idle.example']) {
      const { status, body, headers } = await asked(`${prefix}to-ken_1`, host);
      assert.deepEqual([status, body], [200, 'to-ken_1.print']);
      assert.match(headers['content-type'] ?? '', /^text\/plain/);
    }
    // What is no token is the app's, and so is the whole path where nothing is ordered.
    for (const path of ['', 'a.b', '<b>', 'a/b', 'a?b', 'x'.repeat(513)]) {
      assert.equal((await asked(`${prefix}${path}`, 'shop.example')).body, 'of the app', path);
    }
    assert.equal((await asked(`${prefix}token`, 'own.example')).body, 'of the app');
    assert.equal((await asked(`${prefix}token`, 'nobody.example')).status, 404);
  });
});
