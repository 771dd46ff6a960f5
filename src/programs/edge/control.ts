/** Owns what the runner may ask of its edge. */
import type { EdgeAddress } from '../../protocol/runner-messages.ts';
import type { EdgeRoute } from '../../protocol/workload.ts';

export interface EdgeControl {
  /** Listens there, or nowhere; the same address again changes nothing. */
  configure(address: EdgeAddress | null): Promise<void>;
  /**
   * Replaces all routes, on disk first. Refused with CONFLICT while the edge cannot listen; the
   * routes hold all the same and serve as soon as it can.
   */
  setRoutes(routes: readonly EdgeRoute[]): Promise<void>;
}
