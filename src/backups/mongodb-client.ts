/** Owns how the clients of MongoDB reach a server inside its container, as the database's own user. */
import type { PipeSpec } from '../protocol/workload.ts';
import type { DatabaseTarget } from './targets.ts';

/** A client takes its password from an argument or a file: this one is its user's alone, and goes with it. */
const withSecretFile = `umask 077
file=$(mktemp) || exit 1
trap 'rm -f "$file"' EXIT
printf 'password: %s\\n' "$GANGWAY_SECRET" > "$file"
unset GANGWAY_SECRET
"$0" --config="$file" "$@"`;

export function mongodbClient(
  { ownPort, username, password, databaseName }: DatabaseTarget,
  program: 'mongodump' | 'mongorestore',
  options: readonly string[],
): PipeSpec {
  const place = ['--host=127.0.0.1', `--port=${String(ownPort)}`, `--username=${username}`];
  const signIn = `--authenticationDatabase=${databaseName}`;
  const args = [program, ...place, signIn, '--archive', '--quiet', ...options];
  const command = ['/bin/sh', '-c', withSecretFile, ...args];
  // YAML reads a JSON string.
  return { command, env: { GANGWAY_SECRET: JSON.stringify(password) } };
}
