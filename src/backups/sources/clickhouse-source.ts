/** Owns what is dumped of ClickHouse: the file of its own BACKUP, which it writes to its disk first. */
import { randomUUID } from 'node:crypto';

import { outputOf } from '../client-program.ts';
import type { DatabaseTarget } from '../targets.ts';
import type { Source } from './source.ts';

const admin = 'gangway';
/** Where the server may write backups, below its data. */
const folder = '/var/lib/clickhouse/backups';
/** `$0`: the statement; `$1`: the file. What one left that was killed goes first: there is one at a time. */
const backUp = `rm -f "\${1%/*}"/gangway-*.tar
trap 'rm -f "$1"' EXIT
printf '%s\\n' "$0" | clickhouse-client --host 127.0.0.1 --port "$2" > /dev/null && cat "$1"`;

export function clickhouseSource(target: DatabaseTarget): Promise<Source> {
  const { databaseName, ownPort, adminPassword } = target;
  const env = { CLICKHOUSE_USER: admin, CLICKHOUSE_PASSWORD: adminPassword };
  const read: Source['read'] = (signal) => {
    const name = `gangway-${randomUUID()}.tar`;
    const statement = `BACKUP DATABASE \`${databaseName}\` TO File('${name}')`;
    const args = [statement, `${folder}/${name}`, String(ownPort)];
    return outputOf(target, { command: ['/bin/sh', '-c', backUp, ...args], env }, signal);
  };
  return Promise.resolve({ kind: 'clickhouse', ending: 'tar', read });
}
