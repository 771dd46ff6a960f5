import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { ServerPlace } from '../../../../src/backups/destinations/destination.ts';
import { makeServerFolder } from '../../../../src/backups/destinations/server-destination.ts';
import { windowChunks } from '../../../../src/backups/sending/artifact-messages.ts';
import { ReadBuffers } from '../../../../src/backups/sending/read-buffers.ts';
import { sendArtifact } from '../../../../src/backups/sending/send-artifact.ts';
import { encrypted } from '../../../../src/backups/streams/age/encrypted.ts';
import { newKeyPair } from '../../../../src/backups/streams/age/keys.ts';
import type { SendReply } from '../../../../src/workers/sending/messages.ts';
import { inPieces, joined, noise } from '../../../support/byte-streams.ts';
import { eventually } from '../../../support/eventually.ts';
import { temporaryFolder } from '../../../support/store-fixture.ts';

const keys = newKeyPair();
const chunkBytes = 8 * 1024;
const windowBytes = windowChunks * chunkBytes;

/** What came of one artifact. A reader that stands still gives no room back for what it got. */
class Receiver {
  readonly #port: MessagePort;
  readonly chunks: Uint8Array[] = [];
  isOver = false;

  constructor(port: MessagePort, standsStill: boolean) {
    this.#port = port;
    port.on('message', (reply: SendReply) => {
      if (reply.type === 'end' || reply.type === 'failed') this.isOver = true;
      if (reply.type !== 'chunk') return;
      this.chunks.push(reply.bytes);
      if (!standsStill) port.postMessage(reply.bytes.length);
    });
    port.postMessage(windowBytes);
  }

  get bytes(): number {
    return this.chunks.reduce((sum, { length }) => sum + length, 0);
  }

  close(): void {
    this.#port.close();
  }
}

async function fixture(t: TestContext, bytes: Buffer) {
  const root = await temporaryFolder(t);
  const place: ServerPlace = { kind: 'server', root, path: ['dst_1'], isOurs: true };
  await makeServerFolder(place);
  const sealed = await joined(encrypted(inPieces(bytes, 50_000), [keys.recipient]));
  writeFileSync(join(root, 'dst_1', 'sealed'), sealed);
  writeFileSync(join(root, 'dst_1', 'plain'), bytes);
  const buffers = new ReadBuffers();
  return (key: 'sealed' | 'plain', standsStill: boolean): Receiver => {
    const { port1, port2 } = new MessageChannel();
    const recoveryKey = key === 'sealed' ? keys.recoveryKey : null;
    const sizeBytes = key === 'sealed' ? sealed.length : bytes.length;
    const request = { place, key, sizeBytes, range: null, recoveryKey, chunkBytes, port: port2 };
    void sendArtifact(request, buffers);
    const receiver = new Receiver(port1, standsStill);
    t.after(() => receiver.close());
    return receiver;
  };
}

describe('sendArtifact()', () => {
  for (const key of ['sealed', 'plain'] as const) {
    it(`has no more of what is ${key} under way than its receivers have room for`, async (t) => {
      const bytes = noise(200_000);
      const send = await fixture(t, bytes);
      const still = Array.from({ length: 20 }, () => send(key, true));
      await eventually('all windows are full', () =>
        still.every((receiver) => receiver.bytes >= windowBytes),
      );
      // One that reads on gets all of it: those that stand still hold none of the memory to read into.
      const reading = send(key, false);
      await eventually('it has ended', () => reading.isOver);
      assert.ok(Buffer.concat(reading.chunks).equals(bytes));
      const underWay = still.reduce((sum, receiver) => sum + receiver.bytes, 0);
      assert.equal(underWay, still.length * windowBytes);
    });
  }
});
