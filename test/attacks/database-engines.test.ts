/** Servers of databases that apps of other teams ask, where all share the network of the machine. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { listeningSockets } from '../../src/lib/processes/listening-sockets.ts';
import { databaseUids } from '../../src/lib/processes/program-uids.ts';
import { Databases, rowsOf, run, runMariadb } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { Gangway } from '../support/gangway.ts';
import { askedAs } from '../support/peers.ts';
import { needs } from '../support/programs.ts';

const strangerUid = 219_002;

/** Says `tea` by a client of the engine's own. */
const says: Record<string, (url: string) => Promise<string>> = {
  POSTGRES: async (url) => JSON.stringify(await rowsOf(url, "SELECT 'tea' AS what")),
  REDIS: (url) => {
    const { hostname, port, password } = new URL(url);
    const env = { REDISCLI_AUTH: decodeURIComponent(password) };
    return run('redis-cli', ['-e', '-h', hostname, '-p', port, 'ECHO', 'tea'], env);
  },
  MARIADB: (url) => runMariadb(url, "SELECT 'tea'"),
};
const programs: Record<string, Parameters<typeof needs>> = {
  POSTGRES: [],
  REDIS: ['redis-server', 'redis-cli'],
  MARIADB: ['mariadbd', 'mariadb'],
};
/** What makes a server answer who has not signed in; MariaDB speaks first. */
const firstWords: Record<string, string> = {
  // SSLRequest, which is answered by one letter.
  POSTGRES: '\0\0\0\x08\x04\xd2\x16\x2f',
  REDIS: 'PING\r\n',
  MARIADB: '',
};

describe('servers of databases without networks of their own', { skip: needs('root') }, () => {
  let gangway: Gangway;
  let databases: Databases;
  before(async () => {
    gangway = await Gangway.open({ env: { GANGWAY_ISOLATION_WITHOUT: 'network' } });
    databases = new Databases(gangway);
  });
  after(() => gangway.end());

  for (const [engine, ask] of Object.entries(says)) {
    const skip = needs(...(programs[engine] ?? []));
    it(
      `${engine} answers who belongs to it and programs of the machine, and no app of others`,
      { skip },
      async () => {
        const { id } = await databases.running({ engine });
        const address = await databases.reveal(id);
        const port = Number(new URL(address).port);
        const heard = (uid: number): Promise<string> =>
          askedAs(uid, port, firstWords[engine] ?? '');
        assert.match(await ask(address), /tea/);
        assert.notEqual(await heard(process.getuid?.() ?? 0), '');
        assert.equal(await heard(strangerUid), '');
        // The server itself has no port.
        const { first, last } = databaseUids;
        const open = (await listeningSockets('/proc/net')).filter(
          ({ uid }) => uid >= first && uid <= last,
        );
        assert.deepEqual(open, []);
        const rotated = await databases.rotate(id);
        assert.match(await ask(rotated), /tea/);
        await assert.rejects(ask(address));
        await databases.setRunning(id, false);
        await eventually('its end', () =>
          ask(rotated).then(
            () => false,
            () => true,
          ),
        );
        await databases.setRunning(id, true);
        await databases.becomes(id, 'running');
        assert.match(await ask(rotated), /tea/);
        await databases.delete(id);
      },
    );
  }
});
