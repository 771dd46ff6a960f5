/** Owns the way back of a file of ClickHouse's own BACKUP, which its server reads from its disk. */
import type { DatabaseTarget } from '../targets.ts';
import { besideRestorer } from './beside-restorer.ts';
import type { Restorer } from './restorer.ts';

/** Where the server may read backups, below its data. */
const folder = '/var/lib/clickhouse/backups';
/** `$0`: the statement; `$1`: the folder; `$2`: the file; `$3`: the port. The server has another user. */
const restore = `set -e
mkdir -p "$1"
trap 'rm -f "$1/$2"' EXIT
cat > "$1/$2"
chmod 755 "$1" && chmod 644 "$1/$2"
printf '%s\\n' "$0" | clickhouse-client --host 127.0.0.1 --port "$3" > /dev/null`;
const file = 'gangway-restore.tar';

export function clickhouseRestorer(target: DatabaseTarget): Restorer {
  const { databaseName, ownPort, username, password } = target;
  const statement = `RESTORE DATABASE \`${databaseName}\` FROM File('${file}')`;
  const args = [statement, folder, file, String(ownPort)];
  const env = { CLICKHOUSE_USER: username, CLICKHOUSE_PASSWORD: password };
  return besideRestorer(target, { read: { command: ['/bin/sh', '-c', restore, ...args], env } });
}
