/**
 * Owns the order in which new data takes the place of the live one, wherever both are.
 *
 * 1. The new data is whole, beside the live one, before anything is stopped.
 * 2. What runs is ended for the exchange alone. When it is not well with the new data it goes on with the previous one.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { ServerControl } from '../targets.ts';
import { notPutBack, putBack, Unsettled, untouched } from './failures.ts';

export interface Swapping {
  control: ServerControl;
  log: (line: string) => void;
}

export interface Exchange {
  /** Makes the new data. */
  make: () => Promise<void>;
  /** Puts it in the place of the live one, which is kept. Nothing runs meanwhile. */
  exchange: () => Promise<void>;
  /** Puts the previous data back, as far as it was exchanged. Nothing runs meanwhile. */
  bringBack: () => Promise<void>;
  /** Removes the previous data, for good. */
  settle: () => Promise<void>;
  /** Removes the new data, as far as it was made. */
  drop: () => Promise<void>;
}

/** Rejects with a ServiceError that says what is there now, or with Unsettled. */
export async function swap({ control, log }: Swapping, data: Exchange): Promise<void> {
  try {
    await data.make();
  } catch (error) {
    await data.drop().catch(() => undefined);
    throw untouched(error);
  }
  log('It takes the place of the live one, for which that is stopped.');
  try {
    await control.stop();
    await data.exchange();
    await control.start();
    await control.replaced();
  } catch (error) {
    log('It is not well with the new data. The previous data is put back.');
    await bringBack(data, control, error);
    await data.drop().catch(() => undefined);
    throw putBack(error);
  }
  await data.settle().catch(() => log('The previous data could not be removed yet.'));
}

async function bringBack(data: Exchange, control: ServerControl, cause: unknown): Promise<void> {
  try {
    await control.stop();
    await data.bringBack();
    await control.start();
  } catch (error) {
    // It may be reached again, and tells then how far this came.
    if (error instanceof ServiceError && error.code === 'AGENT_UNREACHABLE') {
      throw new Unsettled(cause);
    }
    throw notPutBack(cause, `it does not start with it either (${String(error)})`);
  }
}
