import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { gitWebhookRoutes } from '../../../../src/gateway/transports/git-webhooks.ts';
import type { GitConnectionRecord } from '../../../../src/store/records/records.ts';
import { eventually } from '../../../support/eventually.ts';
import { startGateway, type TestGateway } from '../../../support/gateway.ts';

const mib = 1024 * 1024;

describe('bodies of deliveries', () => {
  let gateway: TestGateway;
  /** Judges a delivery. */
  let judge: () => Promise<void>;
  beforeEach(async () => {
    judge = () => Promise.resolve();
    const connection = { provider: 'generic' } as GitConnectionRecord;
    gateway = await startGateway(
      gitWebhookRoutes({
        actors: {} as Parameters<typeof gitWebhookRoutes>[0]['actors'],
        reader: { find: () => connection, list: () => [connection] } as never,
        deliveries: { read: () => judge().then(() => ({ kind: 'unsigned' })) },
        secretOf: () => null,
        bodiesMaxBytes: 4 * mib,
      }),
    );
  });
  afterEach(() => gateway.close());

  const send = async (bytes: number): Promise<string> => {
    const answer = await fetch(`${gateway.url}/api/git/webhook/x`, {
      method: 'POST',
      body: Buffer.alloc(bytes),
    });
    const { code } = (await answer.json()) as { code: string };
    return `${String(answer.status)} ${code}`;
  };
  /** A sender who leaves off in the middle. */
  const begin = (path: string, headers: string, bytes: number): Socket => {
    const socket = connect(gateway.port, '127.0.0.1');
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${String(20 * mib)}\r\n${headers}\r\n`;
    socket.on('error', () => undefined);
    socket.write(head);
    socket.write(Buffer.alloc(bytes));
    return socket;
  };
  const judged = '401 UNAUTHENTICATED';
  const refused = '503 OVERLOADED';
  const large = 1.5 * mib;

  it('have a bounded memory together, in which short ones still find room', async () => {
    assert.equal(await send(large), judged);
    const slow = begin('/api/git/webhook/x', '', large);
    await eventually('it is here', async () => (await send(large)) === refused);
    for (let i = 0; i < 5; i++) assert.equal(await send(large), refused);
    assert.equal(await send(mib / 4), judged);
    slow.destroy();
    await eventually('it is gone', async () => (await send(large)) === judged);
    assert.equal(await send(1.9 * mib), judged, 'and nothing is counted that is not here');
  });

  it('count for GitHub, too', async () => {
    const signature = `X-Hub-Signature-256: sha256=${'0'.repeat(64)}\r\n`;
    const target = 'X-GitHub-Hook-Installation-Target-';
    const app = `${target}ID: 1\r\n${target}Type: integration\r\n`;
    const slow = begin('/api/github/webhook', `${signature}${app}`, large);
    await eventually('it is here', async () => (await send(large)) === refused);
    slow.destroy();
    await eventually('it is gone', async () => (await send(large)) === judged);
  });

  it('count until they are judged', async () => {
    const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    judge = () => {
      begun.resolve();
      return held.promise;
    };
    const first = send(large);
    await begun.promise;
    assert.equal(await send(large), refused);
    held.resolve();
    assert.equal(await first, judged);
    assert.equal(await send(large), judged);
  });
});
