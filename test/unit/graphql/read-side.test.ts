import assert from 'node:assert/strict';
import { it } from 'node:test';
import { appsCertificateId } from '../../../src/actors/edge/apps-certificate.ts';
import { Executor } from '../../../src/graphql/execution/executor.ts';
import { readSide } from '../../../src/graphql/read-side.ts';
import { schema } from '../../../src/graphql/schema/schema.ts';
import type { CertificateRecord } from '../../../src/store/records/records.ts';
import { put, remove } from '../../../src/store/records/table.ts';
import { tables } from '../../../src/store/records/tables.ts';
import { GraphqlFixture, settings } from '../../support/graphql-fixture.ts';

const wildcard = '*.apps.example';
const certificate: CertificateRecord = {
  ...{ id: appsCertificateId(wildcard), names: [wildcard], chain: '', key: Buffer.alloc(0) },
  ...{ issuer: 'CA', notBeforeMs: 0, notAfterMs: 1, managed: true },
};

it('reads addresses of apps as their certificate comes and goes, also where texts are kept', async (t) => {
  const fixture = new GraphqlFixture(1);
  t.after(() => fixture.close());
  const { limits } = fixture;
  const { store } = fixture.accounts;
  const failing = { onInternal: assert.ifError, onFault: assert.ifError };
  const given = { ...settings, appsDomain: 'apps.example', edgeTlsPort: 443 };
  const query = '{ app(id: "app_1") { url urls } apps { nodes { url } } }';
  for (const [compile, appsWildcard, secure] of [
    [true, wildcard, 'https://'],
    [false, wildcard, 'https://'],
    [true, null, 'http://'],
  ] as const) {
    const executor = new Executor({ schema, limits, compile, ...failing });
    const read = readSide(fixture.read, { ...given, appsWildcard });
    const ask = async (): Promise<string> => {
      const context = { ...fixture.context(fixture.ann), read };
      return (await executor.answer(query, undefined, {}, context)).json;
    };
    const say = async (scheme: string): Promise<void> => {
      for (let run = 0; run < 4; run++) {
        const { data } = JSON.parse(await ask()) as {
          data: { app: { url: string; urls: string[] }; apps: { nodes: { url: string }[] } };
        };
        const all = [data.app.url, ...data.app.urls, ...data.apps.nodes.map(({ url }) => url)];
        assert.equal(all.length, 3);
        for (const url of all) assert.ok(url.startsWith(scheme), url);
      }
    };
    await say('http://');
    store.write([put(tables.certificates, certificate)]);
    await say(secure);
    store.write([remove(tables.certificates, certificate.id)]);
    await say('http://');
  }
});
