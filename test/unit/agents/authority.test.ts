import assert from 'node:assert/strict';
import { createHash, createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';

import { AgentAuthority } from '../../../src/agents/authority.ts';
import { laneHosts } from '../../../src/protocol/agent-wire.ts';
import type { ServerRecord } from '../../../src/store/records/records.ts';
import { put } from '../../../src/store/records/table.ts';
import { tables } from '../../../src/store/records/tables.ts';
import { bytesOf, newAgentKey, pemOf, requestOf } from '../../support/agent-requests.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemoryStore } from '../../support/memory-store.ts';
import { plainSecrets } from '../../support/plain-secrets.ts';

const serverId = 'srv_01';
const dayMs = 24 * 3_600_000;

describe('the authority for agents', () => {
  const clock = new ManualClock();
  const store = new MemoryStore();
  const key = newAgentKey();
  let authority: AgentAuthority;

  before(async () => {
    authority = new AgentAuthority({ reader: store, secrets: plainSecrets, clock });
    assert.equal(authority.exists, false);
    store.write([put(tables.agentAuthority, await authority.make())]);
  });
  after(() => authority.close());
  beforeEach(() => list());

  function list(...certificates: { serial: string; notAfterMs: number }[]): void {
    const state = { connected: false, draining: false, version: null, lastSeenAtMs: null };
    const record: ServerRecord = {
      ...{ id: serverId, name: 'one', runtime: 'process', ...state },
      agent: {
        bootstrap: null,
        certificates,
        problem: null,
        takeover: null,
        teamId: null,
        createdAtMs: 0,
      },
    };
    store.write([put(tables.servers, record)]);
  }
  const refused = (csr: string, why: RegExp, known?: string[]) =>
    assert.rejects(authority.issueAgentCertificate(csr, serverId, known), {
      code: 'BAD_REQUEST',
      message: why,
    });

  it('issues for the id of a server, for 90 days, as a client', async () => {
    const issued = await authority.issueAgentCertificate(requestOf(key, {}), serverId);
    const certificate = new X509Certificate(issued.certificatePem);
    const ca = new X509Certificate(authority.caPem);
    assert.equal(certificate.subject, `CN=${serverId}`);
    assert.equal(certificate.serialNumber, issued.serial);
    assert.equal(Date.parse(certificate.validTo), Math.floor(issued.notAfterMs / 1000) * 1000);
    assert.equal(issued.notAfterMs, clock.now() + 90 * dayMs);
    assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.2']);
    assert.deepEqual([certificate.ca, certificate.subjectAltName], [false, undefined]);
    assert.ok(certificate.checkIssued(ca) && certificate.verify(ca.publicKey));
    assert.ok(certificate.publicKey.equals(createPublicKey(key)));
  });

  it('makes a port for agents that one whose clock is a year off trusts', () => {
    const { key: controlKey, chain } = authority.controlCertificate();
    const control = new X509Certificate(chain);
    const ca = new X509Certificate(authority.caPem);
    assert.equal(chain.match(/BEGIN CERTIFICATE/g)?.length, 2);
    assert.ok(
      control.verify(ca.publicKey) && control.publicKey.equals(createPublicKey(controlKey)),
    );
    for (const host of Object.values(laneHosts)) assert.equal(control.checkHost(host), host);
    assert.deepEqual(control.keyUsage, ['1.3.6.1.5.5.7.3.1']);
    assert.equal(ca.ca, true);
    for (const one of [control, ca]) {
      assert.ok(Date.parse(one.validFrom) < clock.now() - 365 * dayMs);
      assert.ok(Date.parse(one.validTo) > clock.now() + 9 * 365 * dayMs);
    }
    const spki = ca.publicKey.export({ type: 'spki', format: 'der' });
    assert.equal(authority.caKeyHash, createHash('sha256').update(spki).digest('base64url'));
  });

  it('keeps its keys sealed, each for its own purpose', () => {
    const stored = store.get(tables.agentAuthority, 'agents');
    const texts = [stored?.key, stored?.control.key].map(
      (sealed) =>
        Buffer.from(sealed ?? [])
          .toString()
          .split('|')[0],
    );
    assert.deepEqual(texts, ['agent-authority:authority', 'agent-authority:control']);
  });

  it('admits while the record of the server lists the serial, and until its end', async () => {
    const issued = await authority.issueAgentCertificate(requestOf(key, {}), serverId);
    const certificate = new X509Certificate(issued.certificatePem);
    assert.equal(authority.admit(certificate), null);
    list(issued);
    assert.equal(authority.admit(certificate), serverId);
    await clock.advance(90 * dayMs - 1);
    assert.deepEqual(
      [authority.admit(certificate), authority.expired(certificate)],
      [serverId, null],
    );
    await clock.advance(1);
    assert.deepEqual(
      [authority.admit(certificate), authority.expired(certificate)],
      [null, serverId],
    );
    list();
    assert.equal(authority.expired(certificate), null);
  });

  it('admits nobody with a certificate of another authority, of another server, or of its own', async () => {
    const other = new MemoryStore();
    const foreign = new AgentAuthority({ reader: other, secrets: plainSecrets, clock });
    try {
      other.write([put(tables.agentAuthority, await foreign.make())]);
      const issued = await foreign.issueAgentCertificate(requestOf(key, {}), serverId);
      list(issued);
      assert.equal(authority.admit(new X509Certificate(issued.certificatePem)), null);
    } finally {
      await foreign.close();
    }
    const ofOther = await authority.issueAgentCertificate(requestOf(key, {}), 'srv_02');
    list(ofOther);
    assert.equal(authority.admit(new X509Certificate(ofOther.certificatePem)), null);
    for (const pem of [authority.caPem, authority.controlCertificate().chain]) {
      const certificate = new X509Certificate(pem);
      list({ serial: certificate.serialNumber, notAfterMs: Infinity });
      assert.equal(authority.admit(certificate), null);
    }
  });

  it('takes a request that names the server, and puts nothing of it into the certificate', async () => {
    const known = ['builder-1'];
    for (const names of [
      { subject: serverId },
      { subject: 'builder-1' },
      { subject: 'builder-1', dns: ['builder-1', serverId] },
    ]) {
      const csr = requestOf(key, names);
      const { certificatePem } = await authority.issueAgentCertificate(csr, serverId, known);
      const certificate = new X509Certificate(certificatePem);
      assert.deepEqual(
        [certificate.subject, certificate.subjectAltName],
        [`CN=${serverId}`, undefined],
      );
    }
    const wanting = requestOf(key, { isAuthority: true });
    const issued = await authority.issueAgentCertificate(wanting, serverId);
    assert.equal(new X509Certificate(issued.certificatePem).ca, false);
  });

  it('refuses a request with a foreign name', async () => {
    const foreign = /^csr: It names somebody else/;
    await refused(requestOf(key, { subject: 'srv_02' }), foreign, ['builder-1']);
    await refused(requestOf(key, { subject: laneHosts.control }), foreign);
    await refused(requestOf(key, { dns: ['srv_02'] }), foreign);
    await refused(requestOf(key, { dns: ['builder-1', laneHosts.control] }), foreign, [
      'builder-1',
    ]);
    await refused(requestOf(key, { ip: [127, 0, 0, 1] }), foreign);
    await refused(requestOf(key, { uris: ['builder-1'] }), foreign, ['builder-1']);
  });

  it('refuses a key or a signature that is weak or of another kind', async () => {
    const weak = /^csr: Its key is too weak/;
    const rsa = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength }).privateKey;
    await refused(requestOf(rsa(1024), {}), weak);
    const curve = generateKeyPairSync('ec', { namedCurve: 'P-224' }).privateKey;
    await refused(requestOf(curve, {}), weak);
    await refused(requestOf(generateKeyPairSync('ed25519').privateKey, {}), weak);
    await refused(requestOf(key, { digest: 'sha1' }), /^csr: Its signature is too weak/);
    const strong = await authority.issueAgentCertificate(requestOf(rsa(2048), {}), serverId);
    assert.equal(new X509Certificate(strong.certificatePem).publicKey.asymmetricKeyType, 'rsa');
  });

  it('refuses a request that was signed with another key', async () => {
    const forged = bytesOf(requestOf(key, {}));
    const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
    const other = createPublicKey(newAgentKey()).export({ type: 'spki', format: 'der' });
    forged.set(other, forged.indexOf(spki));
    await refused(pemOf(forged), /^csr: Its signature is not made with the key/);
  });

  it('refuses what is no request, and goes on', async () => {
    const { certificatePem } = await authority.issueAgentCertificate(requestOf(key, {}), serverId);
    const nested = Buffer.concat(Array.from({ length: 1000 }, () => Buffer.of(0x30, 0x80)));
    const real = bytesOf(requestOf(key, {}));
    for (const csr of [
      ...['', 'x', certificatePem, pemOf(Buffer.alloc(0)), pemOf(Buffer.alloc(500, 0x30))],
      ...[pemOf(nested), pemOf(real.subarray(0, 60)), requestOf(key, {}).repeat(2)],
      `${'A'.repeat(7000)}${requestOf(key, {})}`,
    ]) {
      await refused(csr, /^csr: It (has to be one request|cannot be read)/);
    }
    await refused('A'.repeat(10_000_000), /^csr: It is longer than 8192 characters/);
    await authority.issueAgentCertificate(requestOf(key, {}), serverId);
  });
});
