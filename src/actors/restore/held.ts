/** Owns the refusal of what would reach into a restore. */
import { ServiceError } from '../../lib/errors.ts';

/** Throws RESTORE_RUNNING while a restore has the target for itself. */
export function checkNotHeld({ isHeld }: { isHeld: boolean }): void {
  if (!isHeld) return;
  throw new ServiceError(
    'RESTORE_RUNNING',
    'A restore is replacing its data. Try again when it is done.',
    {
      retryAfterS: 5,
    },
  );
}
