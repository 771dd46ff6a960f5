/** Owns how the clients of MariaDB and MySQL reach a server inside its sandbox. */
import type { PipeSpec } from '../protocol/workload.ts';
import type { DatabaseTarget } from './targets.ts';

export interface MariadbClient {
  program: string;
  user: 'own' | 'admin';
  /** Null: none. */
  database: string | null;
}

/** `--no-defaults` comes first: files of options could change what a client does. */
export function mariadbClient(
  { socket, ownPort, username, password, adminPassword }: DatabaseTarget,
  { program, user, database }: MariadbClient,
  options: readonly string[],
): PipeSpec {
  const place =
    socket === null
      ? ['--protocol=tcp', '--host=127.0.0.1', `--port=${String(ownPort)}`]
      : ['--protocol=socket', `--socket=${socket}`];
  const [name, secret] = user === 'own' ? [username, password] : ['root', adminPassword];
  const names = database === null ? [] : [database];
  const command = [program, '--no-defaults', ...place, `--user=${name}`, ...options, ...names];
  return { command, env: { MYSQL_PWD: secret } };
}
