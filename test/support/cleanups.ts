/**
 * Owns the end of what a suite's `before` opens: told right where a thing is made, so that one that
 * was made before `before` failed is ended too, and one that was never made is not asked for.
 */
import { after } from 'node:test';

export type Cleanup = () => unknown;

/** To be called where `after` may be. What is given runs then, the last first, each whatever others do. */
export function cleanups(): (cleanup: Cleanup) => void {
  const all: Cleanup[] = [];
  after(async () => {
    const errors: unknown[] = [];
    for (const cleanup of all.splice(0).reverse()) {
      try {
        await cleanup();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) throw new AggregateError(errors, 'Several things did not end well');
  });
  return (cleanup) => {
    all.push(cleanup);
  };
}
