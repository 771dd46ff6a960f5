/** Data directories and stores for tests, removed and closed at their end. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { openStore, type Store, type StoreOptions } from '../../src/store/store.ts';
import { memoryLogger } from './memory-logger.ts';

export async function temporaryFolder(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'gangway-store-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

export async function openedStore(
  t: TestContext,
  options: Partial<StoreOptions> = {},
): Promise<Store> {
  const dir = options.dir ?? (await temporaryFolder(t));
  const store = await openStore({ logger: memoryLogger(), ...options, dir });
  t.after(() => store.close());
  return store;
}
