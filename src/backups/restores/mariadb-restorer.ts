/**
 * Owns the way back of a dump of MariaDB or MySQL: into a database beside the live one, as its own user. When
 * all is there its tables take the place of the live ones, at once; views, routines, events and triggers
 * belong to their database and are made anew.
 *
 * 1. The client reads in binary mode, in which no command of its own (`\!`, `source`) is obeyed, and leaves
 *    out what is meant for another database.
 * 2. Until the exchange nothing of the live database is touched. An exchange that fails or is cut off is undone.
 */
import type { DatabaseTarget } from '../targets.ts';
import { firstBytes } from './first-bytes.ts';
import { putBack, Unsettled, unfit, untouched } from './failures.ts';
import { MariadbExchange } from './mariadb-exchange.ts';
import { incoming, MariadbServer } from './mariadb-server.ts';
import type { Restorer } from './restorer.ts';

const lookBytes = 4096;

export function mariadbRestorer(target: DatabaseTarget): Restorer {
  return {
    async restore(bytes, log, signal) {
      const { server, exchange } = await open(target, signal).catch((error: unknown) => {
        throw untouched(error);
      });
      let isRecovered = false;
      try {
        const { whole } = await checked(bytes);
        // An earlier one may have been cut off while its server could not be reached.
        await exchange.recover();
        isRecovered = true;
        await exchange.clear();
        log('A database is made beside the live one.');
        await server.makeIncoming();
        log('The dump is read into it.');
        try {
          await server.load(incoming, whole, ['--one-database']);
        } finally {
          await server.endIncoming();
          await server.keepPassword();
        }
        await server.mustHoldSomething();
        await exchange.prepare();
        signal.throwIfAborted();
      } catch (error) {
        // What is beside the live database may be all that there is of it.
        if (isRecovered) await exchange.clear().catch(() => undefined);
        throw untouched(error);
      }
      log('It takes the place of the live one.');
      await exchangeOrUndo(exchange);
      await target.control.replaced();
      await exchange.clear().catch(() => log('The previous database could not be removed yet.'));
    },
  };
}

/** See `Recover`. */
export async function recoverMariadb(
  target: DatabaseTarget,
  signal: AbortSignal,
): Promise<'previous' | 'restored'> {
  const { server, exchange } = await open(target, signal);
  const state = await exchange.recover();
  await server.keepPassword();
  if (state === 'restored') await target.control.replaced();
  await exchange.clear();
  return state;
}

async function open(
  target: DatabaseTarget,
  signal: AbortSignal,
): Promise<{ server: MariadbServer; exchange: MariadbExchange }> {
  const server = await MariadbServer.open(target, signal);
  return { server, exchange: new MariadbExchange(server, target.databaseName) };
}

/** A restore that has come this far is not given up. */
async function exchangeOrUndo(exchange: MariadbExchange): Promise<void> {
  try {
    await exchange.run();
  } catch (error) {
    const state = await exchange.recover().catch(() => {
      throw new Unsettled(error);
    });
    // The answer to its last step may have been lost.
    if (state === 'restored') return;
    await exchange.clear().catch(() => undefined);
    throw putBack(error);
  }
}

async function checked(
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ whole: AsyncIterable<Uint8Array> }> {
  const { first, whole } = await firstBytes(bytes, lookBytes);
  if (first.length === 0) throw unfit('The dump is empty.');
  // Text of SQL has none.
  if (first.includes(0)) throw unfit('This is no dump of SQL.');
  return { whole };
}
