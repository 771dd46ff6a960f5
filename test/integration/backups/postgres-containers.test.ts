/** The files of a PostgreSQL of this machine, brought back into one that runs in a container. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import Docker from 'dockerode';
import pg from 'pg';

import { engines } from '../../../src/actors/database/engines/engines.ts';
import type { Server } from '../../../src/actors/database/engines/engine.ts';
import { ownVolumes, withVolumes } from '../../../src/actors/workload/volumes.ts';
import { databaseRestorer } from '../../../src/backups/restores/database-restorers.ts';
import { databaseSource } from '../../../src/backups/sources/database-sources.ts';
import { tarEnd } from '../../../src/backups/tar/tar-header.ts';
import { textEntry } from '../../../src/backups/tar/tar-tree.ts';
import type { DatabaseTarget } from '../../../src/backups/targets.ts';
import type { VolumeFolders } from '../../../src/drivers/driver.ts';
import { importDatabaseImages, postgresImage } from '../../support/database-images.ts';
import { collected, databaseServer, pieces } from '../../support/database-server.ts';
import { containerSpec, dockerPlace, type DockerPlace } from '../../support/docker-place.ts';
import { until } from '../../support/driver-specs.ts';
import { needs } from '../../support/programs.ts';

const never = new AbortController().signal;
const owner = 'db_test';

describe('a base backup of PostgreSQL', { skip: needs('docker') }, () => {
  let place: DockerPlace;
  let server: Server;
  let run: { volumes?: VolumeFolders; volumesBefore?: VolumeFolders } = {};
  let id = '';
  let runs = 0;

  before(async () => {
    place = await dockerPlace();
    await importDatabaseImages(new Docker({ socketPath: place.daemon.socket }));
    const port = await place.driver.freePort();
    const secrets = { password: "pa'ss", adminPassword: 'admin-secret' };
    server = {
      ...{ databaseName: 'shop', username: 'ann', ...secrets },
      ...{ host: '127.0.0.1', port, ownPort: 5432, socket: null },
      exec: () => Promise.reject(new Error('PostgreSQL is asked over its port')),
    };
    await start();
  });
  after(async () => {
    await stop();
    await place.driver.removeVolumesOf(owner);
    await place.close();
  });

  const start = async (): Promise<void> => {
    id = `server-${String(++runs)}`;
    const { image } = engines.POSTGRES;
    const { env } = image.run(server, server);
    const name = run.volumes?.['data'] ?? `${owner}-data`;
    const container = {
      ...{ image: postgresImage, port: image.port, network: null, aliases: [] },
      volumes: [{ name, path: image.volume }],
    };
    const { port } = server;
    const spec = containerSpec({ id, owner, kind: 'service', command: [], env, port, container });
    await place.driver.start({ ...spec, workingDir: '' });
    await until('it answers', async () => {
      const state = (await place.driver.inspect(id))?.state;
      if (state?.phase === 'waiting' || state?.phase === 'ended') throw new Error('it ended');
      return (await engines.POSTGRES.check(server, never)).kind === 'well';
    });
    await engines.POSTGRES.setUp(server, never);
  };
  const stop = (): Promise<void> => place.driver.remove(id);
  const target = async (): Promise<DatabaseTarget> => ({
    ...{ engine: 'POSTGRES', version: '18', ...server },
    ...{
      tools: null,
      files: null,
      server: null,
      beside: null,
      control: { start, stop, replaced: () => Promise.resolve() },
    },
    pipe: (spec, input, signal) => place.driver.pipe(id, spec, input, signal),
    volumes: await ownVolumes(
      place.driver,
      { id: owner, run },
      {
        restoreId: `rst_${String(runs)}`,
        use: (volumes, before) => {
          run = withVolumes(run, volumes, before);
          return Promise.resolve();
        },
      },
    ),
  });
  const restore = async (bytes: Buffer): Promise<void> => {
    const artifact = { kind: 'postgresql', ending: 'base.tar', isOwn: true, bytes: bytes.length };
    const restorer = databaseRestorer(await target(), artifact);
    await restorer.restore(pieces(bytes, 65_536), () => undefined, never);
  };
  const query = async (at: pg.ClientConfig, text: string): Promise<unknown[]> => {
    const client = new pg.Client(at);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  };
  const inContainer = (): pg.ClientConfig => ({
    ...{ host: '127.0.0.1', port: server.port, database: 'shop' },
    ...{ user: server.username, password: server.password },
  });

  it('comes back in a container, with the settings that are there, or leaves what is there', async () => {
    const nothing = { find: () => Promise.resolve(null), ask: () => Promise.resolve(null) };
    const here = await databaseServer('POSTGRES', null, nothing);
    let bytes: Buffer;
    try {
      const { socket, port, username: user, password, databaseName: database } = here.target;
      const at = { host: socket ?? '', port, user, password, database };
      await query(
        at,
        `CREATE TABLE teas AS SELECT i, 'tea ' || i AS name FROM generate_series(1, 3000) i`,
      );
      bytes = await collected((await databaseSource(here.target)).read(never));
    } finally {
      await here.close();
    }
    await query(inContainer(), 'CREATE TABLE live AS SELECT 1 AS one');
    for (const bad of [
      bytes.subarray(0, bytes.length - 100_000),
      Buffer.concat([...textEntry('PG_VERSION', '9\n'), tarEnd]),
      Buffer.concat([...textEntry('PG_VERSION', '18\n'), tarEnd]),
    ]) {
      await assert.rejects(restore(bad), /The data is as it was\.$/);
    }
    const broken = ['PG_VERSION', 'global/pg_control', 'backup_label'].flatMap((name) => [
      ...textEntry(name, '18\n'),
    ]);
    await assert.rejects(
      restore(Buffer.concat([...broken, tarEnd])),
      /The previous data is back\.$/,
    );
    assert.deepEqual(await query(inContainer(), 'SELECT * FROM live'), [{ one: 1 }]);
    await restore(bytes);
    const found = await query(inContainer(), 'SELECT count(*)::int AS n, max(i) AS m FROM teas');
    assert.deepEqual(found, [{ n: 3000, m: 3000 }]);
    assert.deepEqual(await place.driver.volumes?.of(owner), [run.volumes?.['data']]);
  });
});
