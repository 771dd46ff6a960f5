/**
 * Owns what this server can run: apps of which sources, and releases of which kind (programs of the
 * machine, or images).
 */
import type { Driver } from '../../../drivers/driver.ts';
import { ServiceError } from '../../../lib/errors.ts';
import type { DeploySource, ReleasePlan } from '../../../store/records/records.ts';

/** Throws UNSUPPORTED_SOURCE for a source that this server cannot deploy. */
export function checkSourceRuns(source: DeploySource, { images }: Pick<Driver, 'images'>): void {
  switch (source) {
    case 'UPLOAD':
    case 'GIT':
      return;
    case 'IMAGE':
    case 'COMPOSE':
      if (images !== null) return;
      throw new ServiceError(
        'UNSUPPORTED_SOURCE',
        `An app with source ${source} needs the docker runtime, and this server has the process runtime. Choose the source UPLOAD, or start Gangway with GANGWAY_RUNTIME=docker.`,
      );
  }
}

/** A release without a plan has nothing that could not run. */
export function runsHere(plan: ReleasePlan | null, { runs }: Pick<Driver, 'runs'>): boolean {
  return plan === null || (plan.image === undefined) === (runs === 'host');
}

export function madeElsewhere(plan: ReleasePlan): string {
  const made = plan.image === undefined ? 'process' : 'docker';
  return `This release was made for the ${made} runtime, which this server does not run now. Deploy again.`;
}

/** Throws NOT_DEPLOYABLE for a release that was made for the other runtime. */
export function checkRunsHere(plan: ReleasePlan | null, driver: Pick<Driver, 'runs'>): void {
  if (plan === null || runsHere(plan, driver)) return;
  throw new ServiceError('NOT_DEPLOYABLE', madeElsewhere(plan));
}
