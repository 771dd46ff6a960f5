/** Owns what is dumped of MongoDB: an archive of `mongodump`. */
import { outputOf } from '../client-program.ts';
import type { DatabaseTarget } from '../targets.ts';
import type { Source } from './source.ts';

/** The program takes its password from an argument or a file: this one is its user's alone, and goes with it. */
const withSecretFile = `umask 077
file=$(mktemp) || exit 1
trap 'rm -f "$file"' EXIT
printf 'password: %s\\n' "$GANGWAY_SECRET" > "$file"
unset GANGWAY_SECRET
"$0" --config="$file" "$@"`;

export function mongodbSource(target: DatabaseTarget): Promise<Source> {
  const { ownPort, username, password, databaseName } = target;
  const place = ['--host=127.0.0.1', `--port=${String(ownPort)}`, `--username=${username}`];
  const what = [`--authenticationDatabase=${databaseName}`, `--db=${databaseName}`];
  const args = ['mongodump', ...place, ...what, '--archive', '--quiet'];
  const command = ['/bin/sh', '-c', withSecretFile, ...args];
  // YAML reads a JSON string.
  const env = { GANGWAY_SECRET: JSON.stringify(password) };
  return Promise.resolve({
    kind: 'mongodb',
    ending: 'archive',
    read: (signal: AbortSignal) => outputOf(target, { command, env }, signal),
  });
}
