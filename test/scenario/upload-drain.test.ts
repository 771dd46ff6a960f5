import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { it } from 'node:test';
import { dataFolders } from '../../src/service/data-folders.ts';
import { eventually } from '../support/eventually.ts';
import { Gangway } from '../support/gangway.ts';
import { RawClient } from '../support/raw-http.ts';

it('SIGTERM ends the service while an upload stalls, which gets 503 and leaves nothing', async (t) => {
  // A drain that waits for the client is longer than the test may take.
  const gangway = await Gangway.open({ env: { GANGWAY_DRAIN_SECONDS: '600' } });
  t.after(() => gangway.end());
  const app = await gangway.client.createApp('Slow');
  const upload = new RawClient(gangway.port);
  t.after(() => {
    upload.destroy();
  });
  upload.write(
    `POST /api/apps/${app.id}/upload HTTP/1.1\r\nHost: a\r\nCookie: ${gangway.client.cookie}\r\n` +
      'X-Upload-Filename: a.tar\r\nContent-Length: 100000000\r\n\r\nbegin',
  );
  const parts = dataFolders(gangway.dataDir).arrivingUploads;
  await eventually('it has begun', () => existsSync(parts) && readdirSync(parts).length > 0);
  const ended = gangway.stop();
  const answer = await upload.answer();
  assert.equal(answer.status, 503);
  assert.match(answer.body, /SHUTTING_DOWN/);
  // The client neither sends more nor leaves.
  assert.deepEqual(await ended, { code: 0, signal: null });
  assert.deepEqual(readdirSync(parts), []);
});
