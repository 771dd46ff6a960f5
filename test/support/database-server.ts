/** Owns a database server of the machine at a driver, without a service, as backups see it. */
import { mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';

import { engines } from '../../src/actors/database/engines/engines.ts';
import { requireHost, type Server } from '../../src/actors/database/engines/engine.ts';
import { DatabaseFolders } from '../../src/places/database-folders.ts';
import type { DatabaseTarget } from '../../src/backups/targets.ts';
import { HostPrograms } from '../../src/drivers/process/host-tools.ts';
import type { WorkloadSpec } from '../../src/protocol/workload.ts';
import type { DatabaseEngine } from '../../src/store/records/records.ts';
import { ended, specOf, until } from './driver-specs.ts';
import { noLog, processPlace, type ProcessPlace } from './runner.ts';
import { connectToServer } from './machine.ts';

const isRoot = process.getuid?.() === 0;
/** A uid with a name, which some programs want; never root, which PostgreSQL refuses. */
const uid = isRoot ? 65_534 : null;
const never = new AbortController().signal;

export interface DatabaseServer {
  target: DatabaseTarget;
  place: DatabaseFolders;
  machine: ProcessPlace;
  close(): Promise<void>;
}

export async function databaseServer(
  engine: DatabaseEngine,
  version: string | null = null,
  tools: Partial<DatabaseTarget['tools']> = {},
): Promise<DatabaseServer> {
  const machine = processPlace();
  const { driver, dataDir } = machine;
  const appsRoot = join(dataDir, 'apps');
  mkdirSync(appsRoot, { mode: 0o711 });
  const path = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/local/sbin', '/usr/sbin', '/sbin'];
  const node = (): Promise<string> => Promise.resolve(process.execPath);
  const programs = new HostPrograms({ appsRoot, path, node, logger: noLog });
  const place = new DatabaseFolders(appsRoot, { id: 'db_test', uid });
  const { host } = { host: requireHost(engines[engine]) };
  const found = await host.find(version, programs);
  const secrets = { password: "pa'ss", adminPassword: 'admin-secret' };
  const names = { databaseName: engine === 'REDIS' ? '' : 'shop', username: 'ann' };
  const own = { owner: 'db_test', uid, workingDir: place.data, files: place.files };
  await place.makeAnew();
  const init = await found.init(place, secrets);
  await place.handOver();
  if (init !== null) {
    await driver.start(specOf({ ...own, id: 'init-1', ...init, kind: 'job' }));
    const { exit } = (await ended(driver, 'init-1')).state;
    if (exit.code !== 0) throw new Error(`init failed: ${JSON.stringify(exit)}`);
  }
  const port = await driver.freePort();
  let runs = 0;
  let id = '';
  const serverOf = (): Server => ({
    ...names,
    ...secrets,
    host: '127.0.0.1',
    port,
    ownPort: port,
    socket: host.socket(place, port),
    connect: connectToServer,
    exec: ({ command, env }, signal) =>
      driver.exec(id, { command, env, timeoutMs: 30_000, maxBytes: 16_384 }, signal),
  });
  const start = async (): Promise<void> => {
    id = `server-${String(++runs)}`;
    const serve = await found.serve(place, port, names, secrets);
    const spec: WorkloadSpec = specOf({
      ...own,
      ...serve,
      id,
      kind: 'service',
      port,
      keepsPort: true,
    });
    await driver.start(spec);
    await until('it answers', async () => {
      const state = (await driver.inspect(id))?.state;
      if (state?.phase === 'waiting' || state?.phase === 'ended') throw new Error('it ended');
      return (await engines[engine].check(serverOf(), never)).kind === 'well';
    }).catch((error: unknown) => {
      throw new Error('The server does not answer', { cause: error });
    });
    await engines[engine].setUp(serverOf(), never);
  };
  const stop = async (): Promise<void> => {
    await driver.remove(id);
  };
  await start();
  const target: DatabaseTarget = {
    engine,
    version: found.version,
    ...names,
    ...secrets,
    host: '127.0.0.1',
    port,
    ownPort: port,
    socket: host.socket(place, port),
    pipe: (spec, input, signal) => driver.pipe(id, spec, input, signal),
    tools: {
      find: (all) => programs.find(all),
      ask: (one, args) => programs.ask(one, args),
      ...tools,
    },
    files: { root: place.root, data: basename(place.data), uid },
    folder: place.data,
    readFolder: (prefix, signal) => place.trees.archive('data', prefix, signal, 'POSTGRES'),
    server: found.program,
    ...{ volumes: null, beside: null, elsewhere: null, connect: null },
    control: { stop, start, replaced: () => Promise.resolve() },
  };
  return { target, place, machine, close: () => machine.close() };
}

/** All of a stream, in pieces as they come. */
export async function collected(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The same bytes, in small pieces. */
export async function* pieces(bytes: Buffer, size = 10_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) {
    await Promise.resolve();
    yield bytes.subarray(at, at + size);
  }
}
