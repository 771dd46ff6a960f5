/** The real store in a directory of its own, with the account and team actors over it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { accountActorDefinition } from '../../src/actors/account/actor.ts';
import { ActorRuntime } from '../../src/actors/runtime/runtime.ts';
import { teamActorDefinition } from '../../src/actors/team/actor.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { type Store, openStore } from '../../src/store/store.ts';
import { plainSecrets } from './plain-secrets.ts';
import { recordingLogger } from './silent-logger.ts';

export interface StoredAccounts {
  dir: string;
  store: Store;
  runtime: ActorRuntime;
  log: ReturnType<typeof recordingLogger>;
  /** Closes the store and removes the directory, when it made it. */
  close(): Promise<void>;
}

export async function openAccounts(existingDir?: string): Promise<StoredAccounts> {
  const dir = existingDir ?? (await mkdtemp(join(tmpdir(), 'gangway-accounts-')));
  const log = recordingLogger();
  const store = await openStore({ dir, logger: log });
  const runtime = new ActorRuntime({ store, clock: systemClock, logger: log });
  const options = { reader: store, clock: systemClock };
  runtime.register(accountActorDefinition(options));
  runtime.register(teamActorDefinition({ ...options, secrets: plainSecrets }));
  return {
    dir,
    store,
    runtime,
    log,
    close: async () => {
      await runtime.close();
      await store.close();
      if (existingDir === undefined) await rm(dir, { recursive: true, force: true });
    },
  };
}
