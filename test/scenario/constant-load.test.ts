/** A shop on a domain of its own, by HTTPS and HTTP, whose visitors notice nothing of what is done to it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import http2 from 'node:http2';
import tls from 'node:tls';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { WebSocket } from 'ws';
import { CertificateAuthority } from '../support/certificate-authority.ts';
import { cleanups } from '../support/cleanups.ts';
import {
  ConstantLoad,
  sessionsVisitor,
  sessionVisitor,
  visitor,
} from '../support/constant-load.ts';
import { DnsServer, type DnsType } from '../support/dns-server.ts';
import { eventually } from '../support/eventually.ts';
import { archiveOf } from '../support/gangway-client.ts';
import type { AppInfo, Client } from '../support/gangway-client.ts';
import { Gangway } from '../support/gangway.ts';
import { NextRelease } from '../support/next-release.ts';
import { freePort } from '../support/ports.ts';
import { edgeOf, edgesOf, isAlive, signal } from '../support/processes.ts';
import { needs, programPath } from '../support/programs.ts';

interface Domain {
  id: string;
  status: string;
  records: { type: DnsType; name: string; value: string }[];
}

const host = 'shop.example';
/** How often what costs no visitor an answer is done. The second restart is an update. */
const [deploys, restarts] = [
  Number(process.env['GANGWAY_TESTS_DEPLOYS'] ?? 10),
  Number(process.env['GANGWAY_TESTS_RESTARTS'] ?? 3),
];
/** Answers after a while with its number and what it was sent, and sends frames of a WebSocket back. */
const shopOf = (release: number): Buffer =>
  archiveOf({
    Procfile: 'web: node server.js',
    'server.js': `
      const { createServer } = require('node:http');
      const { createHash } = require('node:crypto');
      const server = createServer((req, res) => {
        let body = '';
        req.setEncoding('utf8').on('data', (more) => (body += more)).on('end', () =>
          setTimeout(() => res.end('release ${String(release)} ' + body), 20));
      });
      server.on('upgrade', (req, socket) => {
        const key = req.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
        const accept = createHash('sha1').update(key).digest('base64');
        socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\n' +
          'Connection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + '\\r\\n\\r\\n');
        socket.on('error', () => {}).on('data', (frame) => {
          const text = frame.subarray(6).map((byte, at) => byte ^ frame[2 + (at % 4)]);
          if (frame[0] === 0x81) socket.write(Buffer.concat([Buffer.of(0x81, text.length), text]));
        });
      });
      server.listen(process.env.PORT);`,
  });

describe('visitors of a shop', { skip: needs('openssl', 'curl') }, () => {
  const later = cleanups();
  let authority: CertificateAuthority;
  let gangway: Gangway;
  let client: Client;
  let shop: AppInfo;
  let domain: Domain;
  let tlsPort: number;
  before(async () => {
    authority = new CertificateAuthority();
    later(() => authority.close());
    const dns = await DnsServer.open();
    later(() => dns.close());
    tlsPort = await freePort();
    gangway = await Gangway.open({
      env: {
        GANGWAY_DNS_RESOLVERS: dns.address,
        GANGWAY_PUBLIC_ADDRESSES: '127.0.0.1',
        GANGWAY_EDGE_TLS_PORT: String(tlsPort),
      },
    });
    later(() => gangway.end());
    ({ client } = gangway);
    shop = await client.runningApp('Shop', shopOf(1));
    domain = await mutate(`addDomain(appId: "${shop.id}", host: "${host}")`);
    for (const { type, name, value } of domain.records) dns.set(type, name, value);
    assert.equal((await mutate(`verifyDomain(id: "${domain.id}")`)).status, 'active');
    await certify();
    await eventually('HTTPS', () => serial().then(Boolean, () => false));
  });

  const mutate = async (field: string): Promise<Domain> => {
    const fields = '{ id status records { type name value } }';
    const answer = await client.must<Record<string, Domain>>(`mutation { ${field} ${fields} }`);
    return Object.values(answer)[0] ?? assert.fail();
  };
  /** A new certificate. */
  const certify = async (): Promise<void> => {
    const { chain, key } = authority.issue([host]);
    await client.must(
      'mutation($id: ID!, $chain: String!, $key: String!) { uploadCertificate(domainId: $id, certificate: $chain, privateKey: $key) { id } }',
      { id: domain.id, chain, key },
    );
  };
  const secure = () => ({ port: tlsPort, servername: host, ca: authority.root, headers: { host } });
  /** Of the certificate that a new handshake gets. */
  const serial = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = tls.connect({ host: '127.0.0.1', ...secure() }, () => {
        resolve(socket.getPeerCertificate().serialNumber);
        socket.destroy();
      });
      socket.once('error', reject);
    });
  /** The body; then version, status and where it is led to, as curl sees it. */
  const curl = async (url: string, ...args: readonly string[]): Promise<string> => {
    const resolved = [tlsPort, gangway.edgePort].flatMap((port) => [
      '--resolve',
      `${host}:${String(port)}:127.0.0.1`,
    ]);
    const shown = ['-w', '\n%{http_version} %{http_code} %{redirect_url}'];
    const all = ['-sS', '--cacert', authority.rootFile, ...resolved, ...shown, ...args, url];
    return (await promisify(execFile)(programPath('curl') ?? 'curl', all)).stdout;
  };

  /** To another release, whose edge takes over. */
  const update = async (to: NextRelease, load: ConstantLoad): Promise<void> => {
    const { dataDir } = gangway;
    const before = edgeOf(dataDir)?.pid;
    await gangway.stop();
    gangway.checkout = to.folder;
    await load.more(5);
    await gangway.start();
    await eventually('the next edge alone', () => {
      const edges = edgesOf(dataDir);
      return edges.length === 1 && edges[0]?.pid !== before;
    });
  };

  it('come to it by HTTP/1.1 and HTTP/2, and to nothing else over its name', async () => {
    const url = `https://${host}:${String(tlsPort)}/`;
    assert.equal(await curl(url, '--http1.1', '-d', 'x'), 'release 1 x\n1.1 200 ');
    assert.equal(await curl(url, '--http2', '-d', 'x'), 'release 1 x\n2 200 ');
    const other = ['-H', `Host: ${shop.slug}.localhost`, '-o', '/dev/null'];
    assert.equal(await curl(url, '--http1.1', ...other), '\n1.1 421 ');
    assert.equal(await curl(url, '--http2', ...other), '\n2 421 ');
    const plain = `http://${host}:${String(gangway.edgePort)}/a?b=c`;
    assert.equal(await curl(plain, '-o', '/dev/null'), `\n1.1 308 ${url}a?b=c`);
    const still = `http://${shop.slug}.localhost:${String(gangway.edgePort)}/`;
    assert.equal(await curl(still), 'release 1 \n1.1 200 ');
  });

  it('see no failure while its certificate is replaced and Gangway is killed', async (t) => {
    const { port, servername, ca, headers } = secure();
    const session = http2.connect(`https://127.0.0.1:${String(port)}`, { ca, servername });
    t.after(() => session.destroy());
    const socket = new WebSocket(`wss://127.0.0.1:${String(port)}`, { ca, servername, headers });
    t.after(() => socket.terminate());
    await once(socket, 'open');
    const echo = async (text: string): Promise<string> => {
      socket.send(text);
      const [said] = (await once(socket, 'message')) as [Buffer];
      return said.toString();
    };
    const load = new ConstantLoad(
      visitor({ isSecure: true, ...secure() }),
      visitor({ isSecure: true, ...secure() }),
      visitor({ isSecure: true, comesAnew: true, ...secure() }),
      sessionVisitor(session, host),
      sessionVisitor(session, host),
    );
    t.after(() => load.stop());
    const first = await serial();
    await load.more(10);
    await certify();
    await eventually('the new certificate', async () => (await serial()) !== first);
    const second = await serial();
    assert.equal(await echo('before'), 'before');
    await gangway.kill9();
    await load.more(10);
    assert.equal(await serial(), second);
    await gangway.start();
    await load.more(10);
    assert.equal(await serial(), second);
    assert.equal(await echo('behind'), 'behind');
    await certify();
    await eventually('one more', async () => (await serial()) !== second);
    await load.end();
  });

  it('come by the same certificate as soon as the edge was killed', async () => {
    const before = await serial();
    const edge = edgeOf(gangway.dataDir);
    assert.ok(edge);
    signal(edge.pid, 'SIGKILL');
    await eventually('its end', () => !isAlive(edge.pid));
    // It waits in the kernel until the next edge is there.
    assert.equal(await serial(), before);
    const url = `https://${host}:${String(tlsPort)}/`;
    assert.equal(await curl(url, '--http2'), 'release 1 \n2 200 ');
  });

  it('see no failure while it is deployed and Gangway restarted, time and again, and once updated', async (t) => {
    const next = new NextRelease();
    later(() => next.close());
    const sessions = (): http2.ClientHttp2Session =>
      http2.connect(`https://127.0.0.1:${String(tlsPort)}`, secure());
    const at = { port: gangway.edgePort, headers: { host: `${shop.slug}.localhost` } };
    const load = new ConstantLoad(
      visitor(at),
      visitor({ comesAnew: true, ...at }),
      visitor({ comesAnew: true, ...at }),
      visitor({ isSecure: true, ...secure() }),
      visitor({ isSecure: true, comesAnew: true, ...secure() }),
      sessionsVisitor(sessions, host),
    );
    t.after(() => load.stop());
    let restarted = 0;
    for (let deployed = 1; deployed <= deploys; deployed++) {
      const release = deployed + 1;
      await client.mustUpload(shop.id, shopOf(release));
      const id = await client.redeploy(shop.id);
      if (Math.floor((deployed * restarts) / deploys) > restarted) {
        restarted++;
        if (restarted === 2) await update(next, load);
        else {
          await (restarted % 2 === 0 ? gangway.stop() : gangway.kill9());
          await load.more(5);
          await gangway.start();
        }
      }
      assert.equal(await client.finished(id), 'ready');
      assert.match(
        (await client.visit(shop.slug)).text,
        new RegExp(`^release ${String(release)} `),
      );
      await load.more(5);
    }
    await load.end();
    t.diagnostic(`${String(load.answers)} answers`);
  });
});
