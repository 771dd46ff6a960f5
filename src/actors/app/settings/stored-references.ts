/**
 * Owns a migration: variables that an earlier version stored record which databases they refer to, because
 * a reader cannot open a sealed value. It runs once, at the first start of a version that needs it.
 */
import type { EnvRecord } from '../../../store/records/records.ts';
import type { Store } from '../../../store/store.ts';
import { type Change, put } from '../../../store/records/table.ts';
import { tables } from '../../../store/records/tables.ts';
import { namedIn } from '../../database/settings/references.ts';
import type { SecretBox } from '../../workload/deps.ts';
import { valueOf } from './variables.ts';

export async function storeReferences(
  store: Pick<Store, 'get' | 'scan' | 'commit' | 'nextEpoch'>,
  secrets: SecretBox,
): Promise<void> {
  const instance = store.get(tables.instance, 'instance');
  // Nothing is stored before the instance is set up.
  if (instance === undefined || instance.referencesKnown === true) return;
  const changes: Change[] = [put(tables.instance, { ...instance, referencesKnown: true })];
  for (const record of store.scan(tables.env)) {
    const refersTo = referencesOf(secrets, record);
    if (refersTo.length > 0) changes.push(put(tables.env, { ...record, refersTo }));
  }
  const actor = 'references';
  await store.commit({ actor, epoch: store.nextEpoch(actor), changes });
}

function referencesOf(secrets: SecretBox, record: Readonly<EnvRecord>): string[] {
  try {
    return namedIn(valueOf(secrets, record));
  } catch {
    // The value is sealed with another key: no app starts with it, whatever it refers to.
    return [];
  }
}
