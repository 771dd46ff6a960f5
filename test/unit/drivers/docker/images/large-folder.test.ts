import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import path from 'node:path';
import type { Duplex } from 'node:stream';
import { describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';

import { createDockerDriver } from '../../../../../src/drivers/docker/docker-driver.ts';
import { noEdge } from '../../../../support/driver-place.ts';
import { noLog, tempDir } from '../../../../support/runner.ts';

const sizeBytes = 32 * 1024 * 1024;
/** What streams and sockets on the way may hold. */
const heldMaxBytes = 4 * 1024 * 1024;

describe('build() of a large folder', () => {
  it('reads it no further than the daemon takes it', async (test) => {
    const dir = tempDir();
    test.after(() => {
      fs.rmSync(dir, { recursive: true });
    });
    const contextDir = path.join(dir, 'context');
    fs.mkdirSync(contextDir);
    fs.writeFileSync(path.join(contextDir, 'Dockerfile'), 'FROM scratch\nCOPY large /\n');
    fs.writeFileSync(path.join(contextDir, 'large'), '');
    fs.truncateSync(path.join(contextDir, 'large'), sizeBytes);

    let read = 0;
    const plainRead = fs.read;
    test.after(() => Object.assign(fs, { read: plainRead }));
    Object.assign(fs, {
      read: (...args: [number, Buffer, number, number, null, () => void]) => {
        read += args[3];
        plainRead(...args);
      },
    });

    let taken = 0;
    let held = 0;
    const take = async (context: IncomingMessage): Promise<void> => {
      for await (const chunk of context as AsyncIterable<Buffer>) {
        taken += chunk.length;
        held = Math.max(held, read - taken);
        // Whoever reads ahead has time to.
        await setTimeout(1);
      }
    };
    const daemon = createServer((request, response) => {
      const isBuild = request.url?.includes('/build?') === true;
      const isImage = request.url?.startsWith('/images/json') === false;
      const answer = isBuild ? '' : JSON.stringify(isImage ? { Id: 'sha256:1', Config: {} } : []);
      void (isBuild ? take(request) : Promise.resolve()).then(() => response.end(answer));
    });
    daemon.on('upgrade', (_request: unknown, socket: Duplex) => {
      test.after(() => socket.destroy());
      socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n');
    });
    const socket = path.join(dir, 'docker.sock');
    await once(daemon.listen(socket), 'listening');
    test.after(() => {
      daemon.close();
      daemon.closeAllConnections();
    });

    const options = { socket, dataDir: path.join(dir, 'data'), instance: 'large', edge: noEdge };
    const driver = createDockerDriver({ ...options, logger: noLog });
    test.after(() => driver.close());
    await driver.images?.build(
      {
        ...{ owner: 'app_1', name: 'large', contextDir, logins: [] },
        ...{ dockerfile: { path: 'Dockerfile' }, buildArgs: {} },
      },
      () => undefined,
      new AbortController().signal,
    );
    assert.ok(taken > sizeBytes, `${String(taken)} bytes came`);
    assert.ok(read >= sizeBytes, `${String(read)} bytes were counted`);
    assert.ok(held < heldMaxBytes, `${String(held)} bytes were held`);
  });
});
