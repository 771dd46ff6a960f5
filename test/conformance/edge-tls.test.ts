import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { after, before, describe, it } from 'node:test';

import { CertificateAuthority } from '../support/certificate-authority.ts';
import { found } from '../support/eventually.ts';
import { freePort } from '../support/ports.ts';
import { childrenOf } from '../support/processes.ts';
import { needs } from '../support/programs.ts';
import { processPlace, runnerPid } from '../support/runner.ts';
import type { ProcessPlace } from '../support/runner.ts';

describe('an edge with HTTPS', { skip: needs('openssl') }, () => {
  let authority: CertificateAuthority;
  let app: Server;
  let place: ProcessPlace;
  let port: number;
  let tlsPort: number;
  before(async () => {
    authority = new CertificateAuthority();
    app = createServer((request, response) =>
      response.end(`${String(request.headers['x-forwarded-proto'])} here`),
    );
    await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
    port = await freePort();
    tlsPort = await freePort();
    place = processPlace({ edge: { host: '127.0.0.1', port, tlsPort } });
    const target = { host: '127.0.0.1', port: (app.address() as AddressInfo).port };
    await place.driver.setRoutes([{ host: 'a.localhost', targets: [target] }]);
  });
  after(async () => {
    await place.close();
    app.closeAllConnections();
    await new Promise((resolve) => app.close(resolve));
    authority.close();
  });

  /** The last line of the answer and the number of the certificate, or why there is none. */
  const visit = (): Promise<{ body: string; serial: string }> =>
    new Promise((resolve) => {
      let text = '';
      let serial = '';
      const at = { host: '127.0.0.1', port: tlsPort, servername: 'a.localhost' };
      const socket = tls.connect({ ...at, ca: authority.root }, () => {
        serial = socket.getPeerCertificate().serialNumber;
        socket.write('GET / HTTP/1.1\r\nhost: a.localhost\r\nconnection: close\r\n\r\n');
      });
      socket.setEncoding('latin1').on('data', (more: string) => (text += more));
      socket.on('error', (error: NodeJS.ErrnoException) => (text += error.code ?? ''));
      socket.once('close', () => {
        resolve({ body: text.split('\r\n').pop() ?? '', serial });
      });
    });
  const edgeOf = async (): Promise<number | undefined> => {
    const runner = await runnerPid(place.dataDir);
    return runner === undefined
      ? undefined
      : childrenOf(runner).find((pid) =>
          fs.readFileSync(`/proc/${String(pid)}/cmdline`, 'latin1').includes('edge'),
        );
  };

  it('serves by HTTPS at tlsPort, with the certificates it was given last', async () => {
    const [first, second] = [authority.issue(['a.localhost']), authority.issue(['a.localhost'])];
    assert.match((await visit()).body, /HANDSHAKE_FAILURE/);
    await place.driver.setCertificates([first]);
    const before = await visit();
    assert.equal(before.body, 'https here');
    await place.driver.setCertificates([second]);
    const behind = await visit();
    assert.equal(behind.body, 'https here');
    assert.notEqual(behind.serial, before.serial);
  });

  it('refuses no connection while its process is killed and another one takes over', async () => {
    const { serial } = await visit();
    const pid = await found('the edge', edgeOf);
    process.kill(pid, 'SIGKILL');
    assert.deepEqual(await visit(), { body: 'https here', serial });
    assert.notEqual(await edgeOf(), pid);
  });

  it('has the certificates behind the death of its runner, and no file shows a key', async () => {
    const { serial } = await visit();
    const files = fs.readdirSync(path.join(place.dataDir, 'runner'), { withFileTypes: true });
    const stored = files.filter((file) => file.isFile()).map(({ name }) => name);
    assert.ok(stored.includes('certificates'));
    for (const name of stored) {
      const text = fs.readFileSync(path.join(place.dataDir, 'runner', name), 'latin1');
      assert.doesNotMatch(text, /PRIVATE KEY|CERTIFICATE/);
    }
    const before = await edgeOf();
    await place.killRunner();
    const again = await found('another edge serves', async () => {
      const pid = await edgeOf();
      if (pid === undefined || pid === before) return undefined;
      const seen = await visit();
      return seen.body === 'https here' && seen;
    });
    assert.equal(again.serial, serial);
  });
});
