import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { resolveConfig } from '../../../src/config.ts';
import { panelRoute } from '../../../src/service/panel-route.ts';
import type { InstanceRecord } from '../../../src/store/records/records.ts';
import { put } from '../../../src/store/records/table.ts';
import { tables } from '../../../src/store/records/tables.ts';
import { MemoryStore } from '../../support/memory-store.ts';

const all = {
  GANGWAY_EDGE_PANEL: 'on',
  GANGWAY_EDGE_TLS_PORT: '443',
  GANGWAY_PUBLIC_URL: 'https://panel.example',
};
const of = (env: Record<string, string>, store = new MemoryStore()) =>
  panelRoute(store, resolveConfig(env).config);

describe('panelRoute()', () => {
  it('leads the host of the public URL to a socket of each gateway thread', () => {
    const route = of({
      ...all,
      GANGWAY_GATEWAY_THREADS: '2',
      GANGWAY_PANEL_HSTS_SECONDS: '60',
    });
    assert.deepEqual(
      [route?.host, route?.panel, route?.settings?.hsts],
      ['panel.example', { origin: 'https://panel.example' }, 60],
    );
    assert.deepEqual(
      route?.targets.map(({ socket }) => socket),
      ['panel-0.sock', 'panel-1.sock'],
    );
  });

  it('goes by the public URL of the settings first', () => {
    const store = new MemoryStore();
    const publicUrl = 'https://console.example:8443';
    store.write([put(tables.instance, { id: 'instance', publicUrl } as unknown as InstanceRecord)]);
    assert.deepEqual(of(all, store)?.panel, { origin: publicUrl });
  });

  it('is none where it is off, or nothing can be certified', () => {
    assert.equal(of({ ...all, GANGWAY_EDGE_PANEL: 'off' }), null);
    for (const url of [
      'http://panel.example',
      'https://localhost',
      'https://192.0.2.1',
      'https://[::1]',
      '',
    ]) {
      assert.equal(of({ ...all, GANGWAY_PUBLIC_URL: url }), null, url);
    }
  });

  it('has no effect without a port for HTTPS', () => {
    const { GANGWAY_EDGE_PANEL } = all;
    assert.throws(() => of({ GANGWAY_EDGE_PANEL }), /edgePanel.*without "edgeTlsPort"/);
    assert.throws(() => of({ GANGWAY_PANEL_HSTS_SECONDS: '1' }), /without "edgePanel"/);
  });
});
