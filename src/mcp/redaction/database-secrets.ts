/**
 * Owns what is secret of a database: its passwords, and the connection strings made of them.
 *
 * 1. A new password counts before the server has it. Passwords before it still count: older lines of a
 *    log, and apps that were not started again, show them.
 */
import { accessWith } from '../../actors/database/settings/address.ts';
import { engines } from '../../actors/database/engines/engines.ts';
import type { ReferencePart } from '../../actors/database/settings/references.ts';
import { openAll } from '../../actors/database/settings/secrets.ts';
import type { SecretBox } from '../../actors/workload/deps.ts';
import type { DatabaseRecord } from '../../store/records/records.ts';

export interface OpenedDatabase {
  /** Of its user, the newest first, and of its administrator. */
  readonly passwords: readonly string[];
  /** Of programs of the machine and of containers. None before it has a port. */
  readonly urls: readonly string[];
  /** What a part of a reference to it stands for; null before it has an address. */
  part(name: ReferencePart, inContainers: boolean): string | null;
}

/** Throws for what cannot be opened. */
export type OpenDatabase = (record: Readonly<DatabaseRecord>) => OpenedDatabase;

const places = [false, true] as const;

export function openDatabase(secrets: SecretBox, record: Readonly<DatabaseRecord>): OpenedDatabase {
  const { own, admin } = openAll(secrets, record);
  const engine = engines[record.engine];
  const access = (inContainers: boolean, password: string) =>
    accessWith(record, password, inContainers);
  const urls = own.flatMap((password) =>
    places.flatMap((inContainers) => {
      const one = access(inContainers, password);
      return one === null ? [] : [engine.url(one)];
    }),
  );
  return {
    passwords: [...own, admin],
    urls,
    part: (name, inContainers) => {
      const one = access(inContainers, own[0] ?? '');
      if (one === null) return null;
      if (name === 'url') return engine.url(one);
      return String(name === 'name' ? one.databaseName : one[name]);
    },
  };
}
