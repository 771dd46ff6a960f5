/** Owns what is dumped of MariaDB and MySQL: SQL of one transaction, with routines, events and triggers. */
import { clientOf, outputOf } from '../client-program.ts';
import { type MariadbClient, mariadbClient } from '../mariadb-client.ts';
import type { DatabaseTarget } from '../targets.ts';
import type { Source } from './source.ts';

export async function mariadbSource(target: DatabaseTarget): Promise<Source> {
  const isMysql = target.engine === 'MYSQL';
  const program = await clientOf(target, isMysql ? ['mysqldump'] : ['mariadb-dump', 'mysqldump']);
  const as: MariadbClient = { program, user: 'own', database: target.databaseName };
  const options = ['--single-transaction', '--quick', '--routines', '--events', '--triggers'];
  // Bytes as text, so that no character set changes them.
  const spec = mariadbClient(target, as, [...options, '--hex-blob', '--no-tablespaces']);
  return {
    kind: isMysql ? 'mysql' : 'mariadb',
    ending: 'sql',
    read: (signal) => outputOf(target, spec, signal),
  };
}
