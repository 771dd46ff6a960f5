import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect, type IncomingHttpHeaders } from 'node:http2';
import path from 'node:path';
import type { Duplex } from 'node:stream';
import { describe, it } from 'node:test';
import Docker from 'dockerode';

import { openSession } from '../../../../../src/drivers/docker/images/buildkit.ts';
import { tempDir } from '../../../../support/runner.ts';

describe('openSession()', () => {
  it('says that it is well, for BuildKit ends a session that does not', async (test) => {
    const dir = tempDir();
    test.after(() => {
      rmSync(dir, { recursive: true });
    });
    const socketPath = path.join(dir, 'docker.sock');
    const daemon = createServer();
    test.after(() => daemon.close());
    await once(daemon.listen(socketPath), 'listening');
    const upgraded = once(daemon, 'upgrade') as Promise<[unknown, Duplex]>;
    const opening = openSession(new Docker({ socketPath }), () => undefined);
    const [, socket] = await upgraded;
    test.after(() => socket.destroy());
    socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n');
    const session = await opening;
    test.after(() => {
      session.close();
    });

    const client = connect('http://session', { createConnection: () => socket });
    test.after(() => {
      client.destroy();
    });
    const asking = client.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const told: IncomingHttpHeaders[] = [];
    // A refusal comes without a message, and therefore without anything behind it.
    for (const event of ['response', 'trailers'])
      asking.on(event, (headers: IncomingHttpHeaders) => told.push(headers));
    // A message of no bytes, behind its length.
    asking.end(Buffer.alloc(5));
    const answer = Buffer.concat((await asking.toArray()) as Buffer[]);
    assert.equal(told.at(-1)?.['grpc-status'], '0');
    // Its one field, the status, is SERVING.
    assert.deepEqual([...answer], [0, 0, 0, 0, 2, 8, 1]);
  });
});
