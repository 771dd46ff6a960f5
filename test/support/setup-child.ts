/**
 * Sets an instance up over the real store and dies by SIGKILL at a given place: inside the n-th
 * transaction, before it is on disk, or right after it is.
 * Usage: setup-child.ts <dir> <transaction> <inside|after>; writes `done` when it got through.
 */
import { accountActorDefinition } from '../../src/actors/account/actor.ts';
import { ActorRuntime } from '../../src/actors/runtime/runtime.ts';
import { Accounts } from '../../src/auth/sign-in/accounts.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openStore } from '../../src/store/store.ts';
import { recordingLogger } from './silent-logger.ts';
import { signInSecrets } from './sign-in-secrets.ts';

const [dir = '', nth = '', place = ''] = process.argv.slice(2);
const logger = recordingLogger();
let transactions = 0;

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}

const store = await openStore({
  dir,
  logger,
  transact: (inner) => async (writes) => {
    const isLast = ++transactions === Number(nth);
    await inner(() => {
      writes();
      if (isLast && place === 'inside') die();
    });
    if (isLast && place === 'after') die();
  },
});
const runtime = new ActorRuntime({ store, clock: systemClock, logger });
runtime.register(accountActorDefinition({ reader: store, clock: systemClock }));
const accounts = new Accounts({
  reader: store,
  actors: runtime,
  clock: systemClock,
  log: logger,
  secret: 'a secret of this instance, 32 characters or more',
  ...signInSecrets(),
  setupCode: 'not asked for on loopback',
  publicUrl: 'http://localhost:3000',
});
await accounts.completeSetup(
  {
    email: 'ada@example.org',
    password: 'correct horse',
    name: 'Ada',
    teamName: 'Ada',
    setupCode: null,
  },
  { address: '127.0.0.1', fromLoopback: true, secure: false, userAgent: '' },
);
await runtime.close();
await store.close();
process.stdout.write('done');
