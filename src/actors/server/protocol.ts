/** Owns the messages of the `servers` actor, which keeps what is known of a driver's servers. */
import type { ServerInfo } from '../../drivers/driver.ts';
import { actorKind } from '../runtime/actor.ts';

export type ServersProtocol = {
  /** All there are now: others are forgotten. */
  seen: { in: { servers: readonly ServerInfo[] }; out: null };
  /** None is reached, and nothing else is known to have changed. */
  lost: { in: object; out: null };
};

/** There is one: `serversActor.at('all')`. */
export const serversActor = actorKind<ServersProtocol>('servers');
