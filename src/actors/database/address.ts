/**
 * Owns where a database is reached: for people and programs of this machine by a port on loopback, for
 * containers of its team by a name in their network.
 */
import type { DatabaseEngine, DatabaseRecord } from '../../store/records.ts';
import type { SecretBox } from '../app/deps.ts';
import type { Access, Engine } from './engines/engine.ts';
import { openPasswords } from './secrets.ts';

export const loopback = '127.0.0.1';
export const passwordMask = '••••••••';

type Engines = Readonly<Record<DatabaseEngine, Pick<Engine, 'url' | 'image'>>>;
type Stored = Readonly<DatabaseRecord>;

/** Its name among the containers of its team; the dot keeps it apart from the slugs of apps. */
export function aliasOf(databaseId: string): string {
  return `${databaseId.replaceAll('_', '-')}.internal`;
}

/** Shows no password, and no port where there is none yet. */
export function maskedUrl(engines: Engines, record: Stored): string {
  const { username, databaseName, engine, run } = record;
  const access = { host: loopback, port: run.port ?? 0, username, databaseName };
  const url = engines[engine].url({ ...access, password: 'masked' });
  const shown = url.replace(':masked@', `:${passwordMask}@`);
  return run.port === null ? shown.replace(`${loopback}:0`, loopback) : shown;
}

/** As programs of this machine reach it; null before it has a port. */
export function accessOf(record: Stored, password: string): Access | null {
  const { username, databaseName, run } = record;
  if (run.port === null) return null;
  return { host: loopback, port: run.port, username, databaseName, password };
}

/** The whole address, with the password, for a program of this machine or for a container. */
export function urlFor(
  {
    secrets,
    engines,
    inContainers,
  }: { secrets: SecretBox; engines: Engines; inContainers: boolean },
  record: Stored,
): string | null {
  const engine = engines[record.engine];
  const { password } = openPasswords(secrets, record);
  const access = accessOf(record, password);
  if (access === null) return null;
  return engine.url(
    inContainers ? { ...access, host: aliasOf(record.id), port: engine.image.port } : access,
  );
}
