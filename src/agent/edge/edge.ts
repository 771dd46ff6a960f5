/** Owns the edge. */
import type { EdgeAddress } from '../../drivers/process/messages.ts';
import type { EdgeRoute } from '../../drivers/driver.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { EdgeControl } from './control.ts';

export class Edge implements EdgeControl {
  constructor(_options: { dir: string; clock: Clock; logger: Logger }) {}
  configure(_address: EdgeAddress | null): Promise<void> {
    return Promise.resolve();
  }
  setRoutes(_routes: readonly EdgeRoute[]): Promise<void> {
    return Promise.resolve();
  }
  close(): void {}
}
