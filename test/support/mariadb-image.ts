/** Owns an image of MariaDB for tests, made of the server of this machine, with the variables of the usual one. */
import fs from 'node:fs';
import path from 'node:path';
import type Docker from 'dockerode';
import { copyWithLibraries, importTree } from './docker-images.ts';

export const mariadbImage = 'gangway-test-mariadb:2';

export async function importMariadbImage(docker: Docker): Promise<void> {
  await importTree(docker, mariadbImage, mariadbTree, '["/entry.sh"]');
}

// As the usual entry does: files and users on the first start, made while nobody is served over TCP. No name
// is looked up, so that root of `localhost` is nobody who comes that way.
const entry = String.raw`#!/bin/sh
set -e
data=/var/lib/mysql
socket=/run/mysqld/mysqld.sock
mkdir -p "$data" /run/mysqld
chmod 1777 /tmp
chown mysql "$data" /run/mysqld
server="/usr/sbin/mariadbd --no-defaults --user=mysql --datadir=$data --socket=$socket --skip-name-resolve"
if [ ! -d "$data/mysql" ]; then
  mariadb-install-db --no-defaults --user=mysql --basedir=/usr --datadir="$data" --skip-test-db \
    --auth-root-authentication-method=normal --cross-bootstrap
  $server --skip-networking &
  client="mariadb --no-defaults --socket=$socket --user=root"
  until $client --execute 'SELECT 1' > /dev/null 2>&1; do sleep 0.1; done
  quoted() { printf "'"; printf %s "$1" | sed "s/[\\\\']/\\\\&/g"; printf "'"; }
  name=$(printf %s "$MARIADB_DATABASE" | sed 's/_/\\_/g')
  $client mysql << END
DROP USER IF EXISTS root@'127.0.0.1', root@'::1';
CREATE USER IF NOT EXISTS root@'$MARIADB_ROOT_HOST';
GRANT ALL ON *.* TO root@'$MARIADB_ROOT_HOST' WITH GRANT OPTION;
SET PASSWORD FOR root@'$MARIADB_ROOT_HOST' = PASSWORD($(quoted "$MARIADB_ROOT_PASSWORD"));
CREATE DATABASE \`$MARIADB_DATABASE\`;
CREATE USER '$MARIADB_USER'@'%' IDENTIFIED BY $(quoted "$MARIADB_PASSWORD");
GRANT ALL ON \`$name\`.* TO '$MARIADB_USER'@'%';
SET PASSWORD FOR root@localhost = PASSWORD($(quoted "$MARIADB_ROOT_PASSWORD"));
END
  kill $!
  wait $!
fi
exec $server
`;

function mariadbTree(dir: string): void {
  for (const name of ['mariadb', 'mariadb-dump', 'my_print_defaults', 'resolveip']) {
    copyWithLibraries(`/usr/bin/${name}`, path.join(dir, 'usr/bin', name), dir);
  }
  fs.mkdirSync(path.join(dir, 'usr/sbin'));
  copyWithLibraries('/usr/sbin/mariadbd', path.join(dir, 'usr/sbin/mariadbd'), dir);
  fs.copyFileSync('/usr/bin/mariadb-install-db', path.join(dir, 'usr/bin/mariadb-install-db'));
  fs.cpSync('/usr/share/mysql', path.join(dir, 'usr/share/mysql'), { recursive: true });
  fs.appendFileSync(path.join(dir, 'etc/passwd'), 'mysql:x:71:71::/tmp:/bin/sh\n');
  fs.appendFileSync(path.join(dir, 'etc/group'), 'mysql:x:71:\n');
  fs.writeFileSync(path.join(dir, 'entry.sh'), entry, { mode: 0o755 });
}
