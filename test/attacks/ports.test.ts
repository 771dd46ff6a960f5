/** Programs that take the port of another as soon as it is free. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import type { Driver } from '../../src/drivers/driver.ts';
import type { IsolationLayer } from '../../src/protocol/isolation.ts';
import { js, readSome, textOf, until } from '../support/driver-specs.ts';
import { layerSettings } from '../support/layer-settings.ts';
import { freePort } from '../support/ports.ts';
import { needs, programPath } from '../support/programs.ts';
import { processPlace, runnerPid, tempDir } from '../support/runner.ts';
import type { ProcessPlace } from '../support/runner.ts';

const [victimUid, squatterUid] = [216_001, 216_002];

/** Binds again and again, and answers every visitor once it could. */
const squatterSource = String.raw`
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int argc, char **argv) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1]))};
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (;;) {
    int on = 1, s = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (!bind(s, (void *)&at, sizeof at) && !listen(s, 100)) {
      write(1, "mine\n", 5);
      for (;;) {
        char heard[4096];
        int c = accept(s, 0, 0);
        if (c < 0) continue;
        if (read(c, heard, sizeof heard) > 0) {
          write(1, "heard\n", 6);
          dprintf(c, "HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nstolen");
        }
        close(c);
      }
    }
    close(s);
    usleep(50);
  }
}
`;

for (const held of ['every layer', 'no networks of their own'] as const)
  squats(held, layerSettings[held]);

function squats(held: string, without: readonly IsolationLayer[]): void {
  describe(`a squatter of ports, held by ${held}`, { skip: needs('root', 'cc') }, () => {
    const sharesPorts = without.includes('network');
    const dir = tempDir();
    const program = path.join(dir, 'squatter');
    let place: ProcessPlace;
    let driver: Driver;
    let edgePort: number;
    before(async () => {
      fs.chmodSync(dir, 0o755);
      fs.writeFileSync(`${program}.c`, squatterSource);
      const made = spawnSync(programPath('cc') ?? 'cc', ['-w', '-o', program, `${program}.c`]);
      assert.equal(made.status, 0, String(made.stderr));
      edgePort = await freePort();
      place = processPlace({ without, edge: { host: '127.0.0.1', port: edgePort } });
      driver = place.driver;
    });
    after(async () => {
      await place.close();
      fs.rmSync(dir, { recursive: true });
    });

    const start = (id: string, owner: string, uid: number, command: readonly string[], more = {}) =>
      driver.start(
        place.specOf({ id, owner, uid, command, kind: 'service', stopGraceMs: 200, ...more }),
      );
    const visit = (host: string): Promise<string> =>
      new Promise((resolve) => {
        const headers = { host, cookie: 'secret=1' };
        http
          .get({ port: edgePort, host: '127.0.0.1', headers, agent: false }, (answer) => {
            let text = '';
            answer.setEncoding('utf8').on('data', (more: string) => (text += more));
            answer.once('end', () => {
              resolve(answer.statusCode === 200 ? text : String(answer.statusCode));
            });
            answer.once('error', (error) => {
              resolve(error.message);
            });
          })
          .once('error', (error) => {
            resolve(error.message);
          });
      });
    const said = async (id: string): Promise<string> => textOf(await readSome(driver, id));

    it('gets no visitor of an app that ends and is started again, and is told of', async () => {
      const port = await driver.freePort();
      // It ends after some answers.
      const app = `let left = 20;
      require('http').createServer((q, s) => {
        s.end('own');
        if (--left === 0) setTimeout(() => process.exit(1), 20);
      }).listen(${String(port)}, '127.0.0.1')`;
      await start('victim-1', 'app_victim', victimUid, js(app), { port });
      const at = { host: '127.0.0.1', port };
      await driver.setRoutes([
        { host: 'a.localhost', targets: [{ ...at, workload: 'victim-1' }] },
        // What would be answered by whoever listens there.
        { host: 'open.localhost', targets: [at] },
      ]);
      await until('the app', async () => (await visit('a.localhost')) === 'own');
      await start('squatter-1', 'app_squatter', squatterUid, [program, String(port)]);
      const answers = new Set<string>();
      await until('the squatter has the port', async () => {
        for (let asked = 0; asked < 10; asked++) answers.add(await visit('a.localhost'));
        return (await said('squatter-1')).includes('mine');
      });
      for (let asked = 0; asked < 20; asked++) answers.add(await visit('a.localhost'));
      assert.deepEqual(
        [...answers].filter((one) => one !== 'own' && !/^50[23]$/.test(one)),
        [],
      );
      assert.ok(!(await said('squatter-1')).includes('heard'));
      // What has no owner is answered by whoever listens on the machine.
      assert.equal(await visit('open.localhost'), sharesPorts ? 'stolen' : '502');
      if (!sharesPorts) return;
      assert.equal(await driver.probe('victim-1'), 'foreign');
      await until('that it is known', async () => {
        const state = (await driver.inspect('victim-1'))?.state;
        return state?.phase !== 'ended' && state?.portTaken === true;
      });
    });

    it('does not get the port of a database that is stopped, also after a restart of the runner', async () => {
      const port = await driver.freePort();
      const server = js(`require('net').createServer().listen(${String(port)}, '127.0.0.1')`);
      const spec = { port, keepsPort: true };
      await start('db-1', 'db_victim', victimUid, server, spec);
      await until('the server', async () => (await driver.probe('db-1')) === 'listening');
      await driver.remove('db-1');
      assert.equal(await listens(port), 'EADDRINUSE');
      const before = await runnerPid(place.dataDir);
      await place.killRunner();
      await until('another runner', async () => {
        const pid = await runnerPid(place.dataDir);
        return pid !== undefined && pid !== before;
      });
      assert.equal(await listens(port), 'EADDRINUSE');
      await start('db-2', 'db_victim', victimUid, server, spec);
      await until('the server', async () => (await driver.probe('db-2')) === 'listening');
      await driver.remove('db-2');
      assert.equal(await listens(port), 'EADDRINUSE');
      await driver.letPort?.('db_victim');
      assert.equal(await listens(port), undefined);
    });
  });
}

/** The code of the failure; nothing once it listens, and it is closed then. */
function listens(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code);
    });
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      server.close(() => {
        resolve(undefined);
      });
    });
  });
}
