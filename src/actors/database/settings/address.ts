/**
 * Owns the addresses of a database: a port on loopback for people and programs of this machine, a name in
 * the team's network for its containers.
 */
import type { DatabaseRecord } from '../../../store/records/records.ts';
import type { SecretBox } from '../../workload/deps.ts';
import type { Access } from '../engines/engine.ts';
import { engines } from '../engines/engines.ts';
import { openPasswords } from './secrets.ts';

export const loopback = '127.0.0.1';
export const passwordMask = '••••••••';

type Stored = Readonly<DatabaseRecord>;

/** Its name among the containers of its team; the dot keeps it apart from the slugs of apps. */
export function aliasOf(databaseId: string): string {
  return `${databaseId.replaceAll('_', '-')}.internal`;
}

/** The address without the password, and without the port until there is one. */
export function maskedUrl(record: Stored): string {
  const { username, databaseName, engine, run } = record;
  const access = { host: loopback, port: run.port ?? 0, username, databaseName };
  const url = engines[engine].url({ ...access, password: 'masked' });
  const shown = url.replace(':masked@', `:${passwordMask}@`);
  return run.port === null ? shown.replace(`${loopback}:0`, loopback) : shown;
}

/** For a program of this machine, or for a container of its team; null before it has a port. */
export function accessFor(
  { secrets, inContainers }: { secrets: SecretBox; inContainers: boolean },
  record: Stored,
): Access | null {
  if (record.run.port === null) return null;
  return accessWith(record, openPasswords(secrets, record).password, inContainers);
}

/** As `accessFor`, with a password that is already opened. */
export function accessWith(record: Stored, password: string, inContainers: boolean): Access | null {
  const { username, databaseName, engine, run } = record;
  if (run.port === null) return null;
  const place = inContainers
    ? { host: aliasOf(record.id), port: engines[engine].image.port }
    : { host: loopback, port: run.port };
  return { ...place, username, databaseName, password };
}
