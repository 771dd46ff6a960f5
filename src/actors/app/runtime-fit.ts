/** Owns that a release runs only where it was made for: as programs of a machine, or in an image. */
import type { Driver } from '../../drivers/driver.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { ReleasePlan } from '../../store/records.ts';

/** A release without a plan has nothing that could not run. */
export function runsHere(plan: ReleasePlan | null, { runs }: Pick<Driver, 'runs'>): boolean {
  return plan === null || (plan.image === undefined) === (runs === 'host');
}

/** What people are told of a release that does not run here. */
export function madeElsewhere(plan: ReleasePlan): string {
  const made = plan.image === undefined ? 'process' : 'docker';
  return `This release was made for the ${made} runtime, which this server does not run now. Deploy again.`;
}

/** NOT_DEPLOYABLE for a release that was made for the other runtime. */
export function checkRunsHere(plan: ReleasePlan | null, driver: Pick<Driver, 'runs'>): void {
  if (plan === null || runsHere(plan, driver)) return;
  throw new ServiceError('NOT_DEPLOYABLE', madeElsewhere(plan));
}
