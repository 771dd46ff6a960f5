import assert from 'node:assert/strict';
import { it } from 'node:test';

import {
  appsCertificateId,
  panelCertificateId,
} from '../../../../src/actors/edge/apps-certificate.ts';
import {
  certificateKeyContext,
  certificatesOfServer,
  edgeCertificates,
} from '../../../../src/actors/edge/edge-certificates.ts';
import type {
  AppRecord,
  CertificateRecord,
  DomainRecord,
} from '../../../../src/store/records/records.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { MemoryStore } from '../../../support/memory-store.ts';

const certificate = (id: string): CertificateRecord => ({
  ...{ id, names: ['shop.example', 'other.example'], chain: `chain ${id}`, issuer: 'us' },
  ...{ key: Buffer.from(id), notBeforeMs: 0, notAfterMs: 1, managed: false },
});
const open = (sealed: Uint8Array, context: string): string =>
  `${context} ${Buffer.from(sealed).toString()}`;

it('serves a certificate for the verified domains that it was brought for alone', () => {
  const store = new MemoryStore();
  const domain = (host: string, more: Partial<DomainRecord> = {}): DomainRecord => ({
    ...{ id: `dom_${host}`, appId: 'app_a', teamId: 'team_a', host, redirectTo: null },
    ...{ isPrimary: false, proof: '', verifiedAtMs: 1, status: 'active', error: null, records: [] },
    ...{ certificateId: null, failures: 0, nextTryAtMs: null, createdAtMs: 0, ...more },
  });
  store.write([
    put(tables.certificates, certificate('crt_one')),
    put(tables.certificates, certificate('crt_two')),
    put(tables.domains, domain('shop.example', { certificateId: 'crt_one' })),
    put(tables.domains, domain('other.example')),
    put(
      tables.domains,
      domain('claimed.example', { certificateId: 'crt_two', verifiedAtMs: null }),
    ),
  ]);
  assert.deepEqual(edgeCertificates(store, { open }, { appsWildcard: null, panelHost: null }), [
    {
      names: ['shop.example'],
      chain: 'chain crt_one',
      key: `${certificateKeyContext('crt_one')} crt_one`,
    },
  ]);
});

it('serves the names of apps with their certificate as long as one is ordered for them', () => {
  const store = new MemoryStore();
  const id = appsCertificateId('*.apps.example');
  assert.deepEqual(
    edgeCertificates(store, { open }, { appsWildcard: '*.apps.example', panelHost: null }),
    [],
  );
  store.write([put(tables.certificates, certificate(id))]);
  const served = { chain: `chain ${id}`, key: `${certificateKeyContext(id)} ${id}` };
  assert.deepEqual(
    edgeCertificates(store, { open }, { appsWildcard: '*.apps.example', panelHost: null }),
    [{ names: ['*.apps.example'], ...served }],
  );
  assert.deepEqual(
    edgeCertificates(store, { open }, { appsWildcard: '*.other.example', panelHost: null }),
    [],
  );
  assert.deepEqual(edgeCertificates(store, { open }, { appsWildcard: null, panelHost: null }), []);
});

it('serves the host of the panel with its own certificate, and with that of no domain', () => {
  const store = new MemoryStore();
  const own = { appsWildcard: null, panelHost: 'panel.example' };
  const domain = { id: 'dom', host: 'panel.example', certificateId: 'crt', verifiedAtMs: 1 };
  store.write([
    put(tables.certificates, certificate('crt')),
    put(tables.domains, { appId: 'app', teamId: 'team', ...domain } as DomainRecord),
  ]);
  assert.deepEqual(edgeCertificates(store, { open }, own), []);
  const id = panelCertificateId('panel.example');
  store.write([put(tables.certificates, certificate(id))]);
  const served = edgeCertificates(store, { open }, own);
  assert.deepEqual(
    served.map(({ names, chain }) => [names, chain]),
    [[['panel.example'], `chain ${id}`]],
  );
});

it('gives another server the keys of its own apps alone', () => {
  const store = new MemoryStore();
  const domain = (host: string, appId: string, certificateId: string) =>
    put(tables.domains, {
      ...{ id: `dom_${host}`, appId, host, verifiedAtMs: 1, certificateId },
    } as DomainRecord);
  store.write([
    put(tables.certificates, certificate('crt_one')),
    put(tables.certificates, certificate('crt_two')),
    put(tables.apps, { id: 'app_a', slug: 'a', serverId: 'srv_other' } as AppRecord),
    put(tables.apps, { id: 'app_b', slug: 'b', serverId: 'srv_local' } as AppRecord),
    domain('a.example', 'app_a', 'crt_one'),
    domain('b.example', 'app_b', 'crt_two'),
    domain('c.example', 'app_gone', 'crt_two'),
  ]);
  const names = certificatesOfServer(store, { open }, 'srv_other').flatMap(({ names }) => names);
  assert.deepEqual(names, ['a.example']);
});
