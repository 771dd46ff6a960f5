import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, it } from 'node:test';

import { newKey, requestFor } from '../../../../src/programs/agent/bootstrap.ts';
import {
  type Identity,
  readIdentity,
  storeIdentity,
} from '../../../../src/programs/agent/identity.ts';
import { agentIssuer, type AgentIssuer } from '../../../support/agent-issuer.ts';
import { tempDir } from '../../../support/runner.ts';

let issuer: AgentIssuer;
before(async () => {
  issuer = await agentIssuer();
});
after(() => issuer.close());

async function identityOf(): Promise<Identity> {
  const key = newKey();
  return {
    ...{ serverId: 'srv_a', key, certificate: await issuer.issue(requestFor(key), 'srv_a') },
    ...{ ca: issuer.authority.caPem, control: { host: 'x', port: 1 }, controlUrl: 'http://x/' },
    tokenHash: 'x',
  };
}

it('an identity is one file, for its owner alone, and replaced as a whole', async (t) => {
  const dir = tempDir();
  t.after(() => fs.rmSync(dir, { recursive: true }));
  assert.equal(readIdentity(dir), null);
  const [one, other] = [await identityOf(), await identityOf()];
  storeIdentity(dir, one);
  assert.deepEqual(readIdentity(dir), one);
  // What a write that was cut off leaves behind.
  fs.writeFileSync(path.join(dir, 'identity.json.new'), JSON.stringify(other).slice(0, 100));
  assert.deepEqual(readIdentity(dir), one);
  storeIdentity(dir, other);
  assert.deepEqual(readIdentity(dir), other);
  assert.deepEqual(fs.readdirSync(dir), ['identity.json']);
  assert.equal(fs.statSync(path.join(dir, 'identity.json')).mode & 0o777, 0o600);
});

it('an identity that is none is told, with its file', async (t) => {
  const dir = tempDir();
  t.after(() => fs.rmSync(dir, { recursive: true }));
  const good = await identityOf();
  const bad = ['', '{}', 'null', JSON.stringify({ ...good, key: (await identityOf()).key })];
  for (const text of bad) {
    fs.writeFileSync(path.join(dir, 'identity.json'), text);
    assert.throws(() => readIdentity(dir), /Cannot read .*identity\.json: it is no identity/);
  }
});
