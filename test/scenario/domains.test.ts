import assert from 'node:assert/strict';
import { request } from 'node:http';
import { before, describe, it } from 'node:test';
import { inTeam } from '../support/access-world.ts';
import { cleanups } from '../support/cleanups.ts';
import { DnsServer } from '../support/dns-server.ts';
import { eventually } from '../support/eventually.ts';
import type { AppInfo, Client } from '../support/gangway-client.ts';
import { Gangway } from '../support/gangway.ts';

interface Domain {
  id: string;
  host: string;
  status: string;
  error: string | null;
  isPrimary: boolean;
  records: { type: string; name: string; value: string; found: boolean }[];
}

const fields = '{ id host status error isPrimary redirectTo records { type name value found } }';
const shopName = 'Shop of ours';
const edgeAddress = '203.0.113.7';

describe('domains of apps', () => {
  const later = cleanups();
  let dns: DnsServer;
  let gangway: Gangway;
  let client: Client;
  let shop: AppInfo;
  /** Of another team. */
  let rival: AppInfo;
  let inRival: Record<string, string>;
  before(async () => {
    dns = await DnsServer.open();
    later(() => dns.close());
    const env = { GANGWAY_DNS_RESOLVERS: dns.address, GANGWAY_PUBLIC_ADDRESSES: edgeAddress };
    gangway = await Gangway.open({ env });
    later(() => gangway.end());
    client = gangway.client;
    // Neither is ever deployed: the page that says so names the app, and that is enough.
    shop = await client.createApp(shopName);
    const { createTeam } = await client.must<{ createTeam: { id: string } }>(
      'mutation { createTeam(name: "Rival") { id } }',
    );
    inRival = inTeam(createTeam.id);
    const { createApp } = await client.must<{ createApp: AppInfo }>(
      'mutation { createApp(input: { name: "Rival shop", source: UPLOAD }) { id slug url } }',
      {},
      inRival,
    );
    rival = createApp;
  });

  const mutate = async (field: string, header = {}): Promise<Domain> => {
    const answer = await client.must<Record<string, Domain>>(
      `mutation { ${field} ${fields} }`,
      {},
      header,
    );
    return Object.values(answer)[0] ?? assert.fail();
  };
  const add = (host: string, redirectTo?: string, app = shop): Promise<Domain> => {
    const redirect = redirectTo === undefined ? '' : `, redirectTo: "${redirectTo}"`;
    const header = app === shop ? {} : inRival;
    return mutate(`addDomain(appId: "${app.id}", host: "${host}"${redirect})`, header);
  };
  const verify = ({ id }: Domain, header = {}): Promise<Domain> =>
    mutate(`verifyDomain(id: "${id}")`, header);
  const setRecords = ({ records }: Domain): void => {
    for (const { type, name, value } of records) {
      dns.set(type as 'A' | 'TXT', name.replace(/^\*\.(.*)$/, '$1'), value);
    }
  };
  const added = async (host: string, redirectTo?: string): Promise<Domain> => {
    const domain = await add(host, redirectTo);
    setRecords(domain);
    assert.equal((await verify(domain)).status, 'active', host);
    return domain;
  };
  const refused = async (field: string, header: Record<string, string>): Promise<string> => {
    const { errors } = await client.graphql(`mutation { ${field} { id } }`, {}, header);
    return String(errors[0]?.extensions.code);
  };
  const visit = (
    host: string,
    path = '/',
  ): Promise<{ status: number; text: string; location?: string | undefined }> =>
    new Promise((resolve) => {
      const headers = { host: `${host}:${String(gangway.edgePort)}`, accept: 'text/plain' };
      const options = {
        host: '127.0.0.1',
        port: gangway.edgePort,
        path,
        headers,
        agent: false,
      } as const;
      const asking = request(options, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (more: string) => (text += more));
        const {
          statusCode: status = 0,
          headers: { location },
        } = answer;
        answer.once('end', () => resolve({ status, text, location }));
      });
      // It may be starting.
      asking.once('error', ({ message }) => resolve({ status: 0, text: message })).end();
    });
  const leadsTo = (name: string, host: string): Promise<void> =>
    eventually(`${host} leads to ${name}`, async () => (await visit(host)).text.includes(name));
  const leadsNowhere = (host: string): Promise<void> =>
    eventually(`${host} leads nowhere`, async () => (await visit(host)).status === 404);
  const urls = async (): Promise<{ url: string; urls: string[] }> => {
    const { app } = await client.must<{ app: { url: string; urls: string[] } }>(
      'query($id: ID!) { app(id: $id) { url urls } }',
      { id: shop.id },
    );
    return app;
  };

  it('lead to it once dnsResolvers find what publicAddresses ask for', async () => {
    const domain = await add('Shop.Example.');
    assert.deepEqual(
      domain.records.map(({ type, name, value, found }) => [
        type,
        name,
        type === 'A' && value,
        found,
      ]),
      [
        ['TXT', '_gangway.shop.example', false, false],
        ['A', 'shop.example', edgeAddress, false],
      ],
    );
    await leadsNowhere('shop.example');
    dns.set('A', 'shop.example', edgeAddress);
    const half = await verify(domain);
    assert.deepEqual(
      [half.status, half.records.map(({ found }) => found)],
      ['pending_dns', [false, true]],
    );
    assert.equal((await visit('shop.example')).status, 404);
    setRecords(domain);
    const whole = await verify(domain);
    assert.deepEqual([whole.status, whole.error, whole.isPrimary], ['active', null, true]);
    await leadsTo(shopName, 'shop.example');
    const own = `http://${shop.slug}.localhost:${String(gangway.edgePort)}`;
    const first = `http://shop.example:${String(gangway.edgePort)}`;
    assert.deepEqual(await urls(), { url: first, urls: [first, own] });
  });

  it('redirect, and cover one label', async () => {
    await added('www.shop.example', 'shop.example');
    const { records } = await add('*.any.example');
    for (const { type, value } of records) {
      if (type === 'TXT') dns.set('TXT', '_gangway.any.example', value);
      dns.set('A', `${records[0]?.value ?? ''}.any.example`, edgeAddress);
    }
    const { app } = await client.must<{ app: { domains: Domain[] } }>(
      `query($id: ID!) { app(id: $id) { domains ${fields} } }`,
      { id: shop.id },
    );
    assert.deepEqual(
      app.domains.map(({ host }) => host),
      ['shop.example', 'www.shop.example', '*.any.example'],
    );
    assert.equal((await verify(app.domains[2] ?? assert.fail())).status, 'active');
    await leadsTo(shopName, 'x.any.example');
    await leadsNowhere('y.x.any.example');
    await eventually('the redirect', async () => (await visit('www.shop.example')).status === 308);
    const { location } = await visit('www.shop.example', '/a?b=c');
    assert.equal(location, `http://shop.example:${String(gangway.edgePort)}/a?b=c`);
  });

  it('cannot be taken by another team, nor anything below them', async () => {
    for (const host of ['shop.example', 'a.shop.example', '*.shop.example', 'x.any.example']) {
      const field = `addDomain(appId: "${rival.id}", host: "${host}")`;
      assert.equal(await refused(field, inRival), 'CONFLICT', host);
    }
    // Who held the claim before somebody else verified it gets nothing either.
    const theirs = await add('late.example', undefined, rival);
    setRecords(theirs);
    const proof = theirs.records[0]?.value ?? '';
    const ours = await add('late.example');
    dns.set('TXT', '_gangway.late.example', proof, ours.records[0]?.value ?? '');
    const both = await Promise.all([verify(ours), verify(theirs, inRival)]);
    assert.deepEqual(both.map(({ status }) => status).toSorted(), ['active', 'failed']);
    const [winner] = both.filter(({ status }) => status === 'active');
    await leadsTo(winner?.id === ours.id ? shopName : 'Rival shop', 'late.example');
  });

  it('are added once, by two at once', async () => {
    const field = `addDomain(appId: "${shop.id}", host: "twice.example")`;
    const codes = await Promise.all([refused(field, {}), refused(field, {})]);
    assert.deepEqual(codes.toSorted(), ['CONFLICT', 'undefined']);
  });

  it('outlive kill -9, before and behind the answer', async () => {
    const domain = await add('crash.example');
    setRecords(domain);
    const asking = verify(domain).catch(() => null);
    await gangway.kill9();
    await asking;
    await gangway.start();
    await verify(domain);
    await gangway.kill9();
    await gangway.start();
    await leadsTo(shopName, 'crash.example');
    assert.ok((await urls()).urls.includes(`http://crash.example:${String(gangway.edgePort)}`));
  });

  it('lead nowhere from trash, stay with their app there, and are free when it is gone', async () => {
    const gone = await client.createApp('Gone shop');
    const domain = await mutate(`addDomain(appId: "${gone.id}", host: "gone.example")`);
    setRecords(domain);
    assert.equal((await verify(domain)).status, 'active');
    await leadsTo('Gone shop', 'gone.example');
    await client.must('mutation($id: ID!) { deleteApp(id: $id) }', { id: gone.id });
    await leadsNowhere('gone.example');
    const field = `addDomain(appId: "${rival.id}", host: "gone.example")`;
    assert.equal(await refused(field, inRival), 'CONFLICT');
    const { trash } = await client.must<{ trash: { id: string }[] }>('{ trash { id } }');
    const { id } = trash[0] ?? assert.fail();
    await client.must('mutation($id: ID!) { restoreFromTrash(id: $id) }', { id });
    await leadsTo('Gone shop', 'gone.example');
    await client.must('mutation($id: ID!) { deleteApp(id: $id) }', { id: gone.id });
    const again = await client.must<{ trash: { id: string }[] }>('{ trash { id } }');
    await client.must('mutation($id: ID!) { purgeFromTrash(id: $id) }', { id: again.trash[0]?.id });
    assert.equal(await refused(field, inRival), 'undefined');
    await leadsNowhere('gone.example');
  });
});
