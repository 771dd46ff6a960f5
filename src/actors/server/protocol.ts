/** Owns what can be asked of, and told to, the actor of servers. */
import type { ServerInfo } from '../../drivers/driver.ts';
import type { LayerState } from '../../protocol/isolation.ts';
import type { ServerRecord, Takeover, TakeoverState } from '../../store/records/records.ts';
import { actorKind } from '../runtime/actor.ts';

/** What is shown once. */
export interface AddedServer {
  server: Readonly<ServerRecord>;
  bootstrapToken: string;
}

export interface ServerTakeover extends Pick<Takeover, 'state' | 'updatedAtMs'> {
  serverId: string;
}

export type ServersProtocol = {
  /** All servers of the driver that exist now; others of it are forgotten. */
  seen: { in: { servers: readonly ServerInfo[] }; out: null };
  /** No server of the driver is reached, and no other change is known. */
  lost: { in: object; out: null };
  /** What keeps workloads of this machine apart, where it has the process runtime; null: not known. */
  isolation: { in: { layers: readonly LayerState[] | null }; out: null };

  /** Refused with BAD_USER_INPUT, and CONFLICT for a name that is taken. */
  add: { in: { name: string; takeover: boolean }; out: AddedServer };
  /** Another token; what was given out for the server before is good for nothing any more. NOT_FOUND, CONFLICT. */
  reissue: { in: { serverId: string }; out: AddedServer };
  /**
   * NOT_FOUND; CONFLICT for one that was not added, and while something is there, unless `force`: that is moved here if the
   * server is connected (false: it is removed after that), else left behind. CONFLICT also while something is being moved from
   * or to it, which the former waits for.
   */
  remove: { in: { serverId: string; force: boolean }; out: boolean };
  /** Nothing new is put on it, or is again. NOT_FOUND, CONFLICT. */
  drain: { in: { serverId: string; drain: boolean }; out: Readonly<ServerRecord> };

  /**
   * The one certificate that a bootstrap token is good for. `name`: of the machine. UNAUTHENTICATED for a token that
   * is not good, or not any more; BAD_REQUEST for an unusable request.
   */
  bootstrap: {
    in: { tokenHash: string; csr: string; name: string };
    out: { serverId: string; certificate: string; ca: string };
  };
  /** UNAUTHENTICATED. Whoever has read a final state has no use for the token any more. */
  'takeover-read': { in: { tokenHash: string }; out: ServerTakeover };
  /** UNAUTHENTICATED; ILLEGAL_STEP. The state that it is in already changes nothing. */
  'takeover-report': {
    in: { tokenHash: string; state: TakeoverState; reason: string | null };
    out: ServerTakeover;
  };

  /** No agent is connected: told once, before any can be. */
  'agents-away': { in: object; out: null };
  /** `runtime`: what runs things there. */
  'agent-connected': {
    in: { serverId: string; version: string; runtime: ServerRecord['runtime'] };
    out: null;
  };
  /** The agent gave a sign of life. It may be told as often as one likes. */
  'agent-seen': { in: { serverId: string }; out: null };
  'agent-lost': { in: { serverId: string }; out: null };
  /** Its certificate is good, but it was not let in. */
  'agent-refused': { in: { serverId: string; problem: string }; out: null };
  /**
   * A certificate for an agent that is connected with the one of `serial`, which stays good until its end. FORBIDDEN
   * when that is not good; BAD_REQUEST; RATE_LIMITED.
   */
  'agent-renew': {
    in: { serverId: string; serial: string; csr: string };
    out: { certificate: string };
  };
};

/** There is one: `serversActor.at('all')`. */
export const serversActor = actorKind<ServersProtocol>('servers');
