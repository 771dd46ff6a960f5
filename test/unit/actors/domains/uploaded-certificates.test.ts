import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';

import { domainsDefinition } from '../../../../src/actors/domains/actor.ts';
import { domainsActor } from '../../../../src/actors/domains/protocol.ts';
import { edgeDefinition } from '../../../../src/actors/edge/edge-actor.ts';
import { ActorRuntime } from '../../../../src/actors/runtime/runtime.ts';
import { systemClock as clock } from '../../../../src/lib/clock.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { CertificateAuthority } from '../../../support/certificate-authority.ts';
import { eventually } from '../../../support/eventually.ts';
import { appRecord } from '../../../support/graphql-fixture.ts';
import { MemoryStore } from '../../../support/memory-store.ts';
import { plainSecrets as secrets } from '../../../support/plain-secrets.ts';
import { needs } from '../../../support/programs.ts';
import { ScriptedDriver } from '../../../support/scripted-driver.ts';
import { recordingLogger } from '../../../support/silent-logger.ts';

let authority: CertificateAuthority | undefined;
before(() => {
  if (!needs('openssl')) authority = new CertificateAuthority();
});
after(() => authority?.close());

const title = 'serves what was uploaded last, and forgets it with the domain';
it(title, { skip: needs('openssl') }, async (t) => {
  assert.ok(authority);
  const [first, second] = [authority.issue(['shop.example']), authority.issue(['shop.example'])];
  const reader = new MemoryStore();
  const logger = recordingLogger();
  const driver = new ScriptedDriver();
  const runtime = new ActorRuntime({ store: reader, clock, logger, carry: structuredClone });
  const hostOf = (slug: string): string => `${slug}.apps.test`;
  const ownHosts = () => ({ panel: 'panel.test', appsDomain: 'apps.test' });
  runtime.register(
    domainsDefinition({
      ...{ reader, clock, logger, secrets, hostOf, ownHosts, verifiedStatus: () => 'active' },
      dns: {
        look: () => Promise.resolve({ own: null, addresses: null, aliases: null, texts: null }),
      },
    }),
  );
  runtime.register(
    edgeDefinition({ reader, placeOf: () => ({ driver }), clock, logger, secrets, hostOf }),
  );
  runtime.start();
  t.after(() => runtime.close());
  reader.write([put(tables.apps, appRecord('app_one', 'team_a'))]);
  const added = {
    type: 'add',
    appId: 'app_one',
    host: 'shop.example',
    redirectTo: null,
    own: null,
  } as const;
  const { id: domainId } = await runtime.ask(domainsActor, added);
  const upload = ({ chain: certificate, key: privateKey }: typeof first) =>
    runtime.ask(domainsActor, { type: 'upload-certificate', domainId, certificate, privateKey });
  const served = async (...chains: string[]): Promise<void> => {
    await eventually('the edge has them', () => {
      const all = driver.certificates.map(({ chain }) => chain);
      return all.join() === chains.join();
    });
  };

  const early = await upload(first);
  assert.equal(early.status, 'pending_dns');
  await served(); // Nobody knows whose the host is.
  reader.write([put(tables.domains, { ...early, verifiedAtMs: 1, status: 'issuing' })]);
  const domain = await upload(second);
  assert.equal(domain.status, 'active');
  await served(second.chain);
  assert.match(driver.certificates[0]?.key ?? '', /PRIVATE KEY/);
  assert.equal([...reader.scan(tables.certificates)].length, 1);
  await assert.rejects(upload(authority.issue(['other.example'])), {
    code: 'CERTIFICATE_HOST_MISMATCH',
  });
  assert.doesNotMatch(JSON.stringify(logger.records), /BEGIN/);
  await runtime.ask(domainsActor, { type: 'remove', domainId });
  await served();
  assert.equal([...reader.scan(tables.certificates)].length, 0);
});
