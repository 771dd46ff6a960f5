import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { dataFolders } from '../../src/service/data-folders.ts';
import { tar } from '../support/archives.ts';
import { eventually } from '../support/eventually.ts';
import { Gangway } from '../support/gangway.ts';
import { heldFiles } from '../support/held-files.ts';
import { RawClient } from '../support/raw-http.ts';

it('what comes of an upload before anybody takes it lies in a file, which is empty in the end', async (t) => {
  const gangway = await Gangway.open();
  t.after(() => gangway.end());
  const app = await gangway.client.createApp('Fast');
  const archive = tar({ name: 'large', data: randomBytes(24 * 2 ** 20) });
  const client = new RawClient(gangway.port);
  t.after(() => client.destroy());
  const send = (): void => {
    client.write(
      `POST /api/apps/${app.id}/upload HTTP/1.1\r\nHost: a\r\nCookie: ${gangway.client.cookie}\r\n` +
        `X-Upload-Filename: a.tar\r\nContent-Length: ${archive.length}\r\n\r\n`,
    );
    client.write(archive);
  };
  const stored = async (): Promise<void> => {
    const answer = await client.answer();
    assert.equal(answer.status, 200, answer.body);
  };
  const { arrivingUploads } = dataFolders(gangway.dataDir);
  const lengths = (): number[] => heldFiles(gangway.pid, arrivingUploads);
  // The kernel takes the more of a connection before it is read, the faster it was read before.
  while (lengths().length === 0) {
    process.kill(gangway.pid, 'SIGSTOP');
    try {
      send();
      let before = 0;
      await eventually('the kernel takes no more', () => {
        const now = waitingBytes(gangway.port);
        const isAll = now > 0 && now === before;
        before = now;
        return isAll;
      });
    } finally {
      process.kill(gangway.pid, 'SIGCONT');
    }
    await stored();
  }
  await eventually('nothing is held', () => lengths()[0] === 0);
});

/** What came at a port and was not read yet, as the kernel counts it. */
function waitingBytes(port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return readFileSync('/proc/net/tcp', 'latin1')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, address = '', , state]) => address.endsWith(local) && state === '01')
    .reduce((sum, [, , , , queues = ':0']) => sum + parseInt(queues.split(':')[1] ?? '0', 16), 0);
}
