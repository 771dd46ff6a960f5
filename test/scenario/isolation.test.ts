/** What people choose and learn of the layers that keep apps of the process runtime apart. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { archiveOf } from '../support/gangway-client.ts';
import { Gangway } from '../support/gangway.ts';
import { runnerHello } from '../support/runner.ts';

const archive = archiveOf({
  Procfile: 'web: node index.js',
  'index.js': `require('node:http').createServer((_, response) => response.end()).listen(process.env.PORT);`,
});

describe('a service that leaves out layers of isolation', () => {
  let gangway: Gangway;
  before(async () => {
    gangway = await Gangway.open({ env: { GANGWAY_ISOLATION_WITHOUT: 'network,mount' } });
    await gangway.client.runningApp('Plain', archive);
  });
  after(() => gangway.end());

  it('isolationWithout says which layers of isolation are left out', async () => {
    assert.deepEqual((await runnerHello(gangway.dataDir))?.without, ['mount', 'network']);
  });
});
