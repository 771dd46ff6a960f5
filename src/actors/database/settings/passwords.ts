/**
 * Owns the uses of a database's secrets: the connection string, another password, the client of a console.
 *
 * 1. A new password is journaled before the server gets it, and is in force once the server took it. After
 *    a crash in between, the server and the journal end with the same one.
 * 2. A shown password works: when it is not known whether the server took a password, the server gets it
 *    again first. Nothing is shown while the server does not answer.
 * 3. Apps that refer to the database are told, even after a crash.
 * 4. A password that the server refused is forgotten: the previous one is in force, even at the next start.
 */
import { ServiceError } from '../../../lib/errors.ts';
import type { ConsoleProgram } from '../../../consoles/console-door.ts';
import type { DatabaseRecord } from '../../../store/records/records.ts';
import { appActor } from '../../app/protocol.ts';
import { checkNotHeld } from '../../restore/held.ts';
import { accessWith, loopback } from './address.ts';
import type { DatabaseCore } from '../core.ts';
import { PasswordRefused } from '../engines/engine.ts';
import type { Handlers } from '../protocol.ts';
import { toldApps } from './references.ts';
import { saidIn } from '../running/said.ts';
import { newPassword, openNext, sealPassword } from './secrets.ts';
import { serverOf } from '../running/wellness.ts';

const retryMs = 15_000;
/** How many earlier passwords are still recognised in texts. */
const retiredMax = 3;

export function passwordHandlers(core: DatabaseCore) {
  return {
    reveal: () => reveal(core),
    rotate: () => rotate(core),
    rotation: () => rotationAgain(core),
    rotated: () => tellApps(core),
    client: ({ statement }) => clientOf(core, statement),
  } satisfies Handlers;
}

async function reveal(core: DatabaseCore): Promise<string> {
  await settle(core);
  return urlOf(core);
}

function urlOf(core: DatabaseCore): string {
  const access = accessWith(core.require(), core.passwords.password, false);
  if (access !== null) return core.engine.url(access);
  throw new ServiceError('NOT_RUNNING', 'The database is being made: it has no address yet.');
}

function isServing({ run, desired }: DatabaseRecord): boolean {
  return run.live !== null && !run.crashing && desired === 'running';
}

/**
 * Finishes an interrupted rotation, if there is one, so that the password in force is known. A server that
 * hangs gets only a few seconds, because all other requests to this actor wait meanwhile.
 */
async function settle(core: DatabaseCore): Promise<void> {
  const record = core.require();
  if (record.nextPasswordSealed === null) return;
  if (!isServing(record)) {
    throw new ServiceError(
      'NOT_RUNNING',
      'Whether the database has its new password is not known before it runs again.',
    );
  }
  const limit = AbortSignal.timeout(core.deps.options.settleTimeoutMs);
  try {
    await settleRotation(core, AbortSignal.any([core.context.signal, limit]));
  } catch (error) {
    core.deps.logger.warn({ database: core.id, err: error }, 'password_not_set');
    if (!(error instanceof PasswordRefused)) throw notTaken(core, error);
  }
}

function refused({ why }: PasswordRefused): ServiceError {
  const told = why ?? 'Its log may say why.';
  return new ServiceError(
    'NOT_RUNNING',
    `The database refused the new password, and keeps the one that it has. ${told}`,
  );
}

function notTaken(core: DatabaseCore, thrown: unknown): ServiceError {
  return new ServiceError(
    'NOT_RUNNING',
    `The database did not take the new password.${saidIn(core, thrown)} That is tried again; ask for the connection string in a while.`,
  );
}

/** The live server, when it answers. */
function requireLive(core: DatabaseCore): { record: DatabaseRecord; live: string } {
  const record = core.require();
  const { live } = record.run;
  if (live === null || !isServing(record)) {
    throw new ServiceError('NOT_RUNNING', 'The database is not running: start it first.');
  }
  return { record, live };
}

async function rotate(core: DatabaseCore): Promise<string> {
  checkNotHeld(core);
  const { record } = requireLive(core);
  // A password that the server may have taken already must not be forgotten.
  const sealed = record.nextPasswordSealed ?? nextPassword(core);
  const retry = core.context.alarm('rotation', core.deps.clock.now() + retryMs, {
    type: 'rotation',
  });
  // The journal knows the password before the server does.
  core.save({ nextPasswordSealed: sealed }, [retry]);
  await core.durable;
  try {
    await settleRotation(core);
  } catch (error) {
    core.deps.logger.warn({ database: core.id, err: error }, 'password_not_set');
    throw error instanceof PasswordRefused ? refused(error) : notTaken(core, error);
  }
  return urlOf(core);
}

/** A new password, sealed, for the server to get. */
export function nextPassword({ deps, id }: DatabaseCore): Uint8Array {
  return sealPassword(deps.secrets, id, 'next', newPassword());
}

/** Gives the server its new password, or drops that password when the server refuses it. */
async function settleRotation(core: DatabaseCore, signal = core.context.signal): Promise<void> {
  const { secrets } = core.deps;
  const { nextPasswordSealed: sealed, passwordSealed, retiredSealed = [] } = core.require();
  if (sealed === null) return;
  const { live } = requireLive(core);
  const next = openNext(secrets, core.id, sealed);
  try {
    await core.engine.setPassword(await serverOf(core, live), next, signal);
  } catch (error) {
    if (!(error instanceof PasswordRefused)) throw error;
    // The refused password is still known here, and so can be removed from the server's words.
    const why = error.why ?? (saidIn(core, error).trim() || null);
    core.save({ nextPasswordSealed: null }, [core.context.clearAlarm('rotation')]);
    await core.durable;
    throw new PasswordRefused(why, { cause: error });
  }
  core.save(
    {
      passwordSealed: sealPassword(secrets, core.id, 'password', next),
      nextPasswordSealed: null,
      retiredSealed: [passwordSealed, ...retiredSealed].slice(0, retiredMax),
    },
    [
      core.context.clearAlarm('rotation'),
      core.context.alarm('rotated', core.deps.clock.now(), { type: 'rotated' }),
    ],
  );
}

/** Tells running apps, which know the previous password. An app that starts gets the one in force. */
async function tellApps({ record, context, deps }: DatabaseCore): Promise<boolean> {
  if (record?.deletedAtMs !== null) return false;
  const message = { type: 'database-rotated', databaseId: record.id, name: record.name } as const;
  const appIds = toldApps(deps.reader, record);
  await Promise.all(appIds.map((id) => context.actors.ask(appActor.at(id), message)));
  return true;
}

/** Continues an interrupted rotation, if there is one. */
export function finishRotation(core: DatabaseCore): void {
  if (core.record?.nextPasswordSealed != null) void core.context.report(() => rotationAgain(core));
}

async function rotationAgain(core: DatabaseCore): Promise<boolean> {
  const { record, context, deps } = core;
  if (record?.nextPasswordSealed == null || record.deletedAtMs !== null) return false;
  // The next start of the server continues the rotation.
  if (record.run.live === null) return false;
  try {
    await settleRotation(core);
    return true;
  } catch (error) {
    deps.logger.warn({ database: core.id, err: error }, 'password_not_set');
    if (error instanceof PasswordRefused) return false;
    const retry = context.alarm('rotation', deps.clock.now() + retryMs, { type: 'rotation' });
    core.save({}, [retry]);
    return false;
  }
}

async function clientOf(core: DatabaseCore, statement: string | null): Promise<ConsoleProgram> {
  await settle(core);
  const { record, live } = requireLive(core);
  const { driver } = core.deps;
  const inside = driver.runs === 'image';
  const server = await serverOf(core, live);
  const { databaseName, username } = record;
  const { password } = core.passwords;
  const { ownPort: port, socket } = server;
  const access = { host: loopback, port, socket, databaseName, username, password };
  const tools = inside ? null : (await core.machine()).tools;
  return { workloadId: live, ...(await core.engine.client(access, statement, tools)) };
}
