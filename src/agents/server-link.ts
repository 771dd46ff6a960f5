/**
 * Owns the way to one other server: its connections as they come and go.
 *
 * 1. It is connected while there is a connection `control`, with whatever process of the agent came last.
 * 2. The two connections are used together only where one process of the agent has both.
 */
import type { Duplex } from 'node:stream';

import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type {
  AgentLink,
  AgentLinkEvent,
  CallOptions,
  ForVisitors,
  Lane,
} from '../protocol/agent-link.ts';
import type { Goodbye } from '../protocol/agent-wire.ts';
import { type AgentLane, signMs, unreachable } from './lane.ts';

export interface Attached {
  lane: AgentLane;
  run: string;
}

export class ServerLink implements AgentLink {
  readonly serverId: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #listeners = new Set<(event: AgentLinkEvent) => void>();
  /** Called when the connections are others. */
  readonly #waiting = new Set<() => void>();
  #control: Attached | null = null;
  #bulk: Attached | null = null;

  constructor(serverId: string, { clock, logger }: { clock: Clock; logger: Logger }) {
    this.serverId = serverId;
    this.#clock = clock;
    this.#logger = logger;
  }

  get isConnected(): boolean {
    return this.#control !== null;
  }

  async call(name: string, message: unknown, options?: CallOptions): Promise<unknown> {
    return (await this.#laneOf('control')).call(name, message, options);
  }

  async stream(
    name: string,
    head: unknown,
    by: Lane | ForVisitors,
    signal?: AbortSignal,
  ): Promise<Duplex> {
    signal?.throwIfAborted();
    const { lane, visitorsOf } =
      typeof by === 'string' ? { lane: by, visitorsOf: null } : { ...by, lane: 'bulk' as const };
    return (await this.#laneOf(lane)).stream(name, head, { visitorsOf, signal });
  }

  unlessHeard(onSilence: () => void): () => void {
    if (this.#control !== null) return this.#control.lane.unlessHeard(onSilence);
    return this.#clock.after(0, onSilence);
  }

  watch(listener: (event: AgentLinkEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** One that is there already is told that it is replaced. */
  attach(attached: Attached): void {
    const { lane } = attached;
    const isControl = lane.lane === 'control';
    const before = isControl ? this.#control : this.#bulk;
    const sentence = 'Another connection of this server has taken its place.';
    before?.lane.dismiss({ reason: 'replaced', sentence });
    if (isControl) this.#control = attached;
    else this.#bulk = attached;
    lane.lost.addEventListener('abort', () => this.#detach(attached), { once: true });
    if (lane.lost.aborted) this.#detach(attached);
    else if (isControl) this.tell({ type: 'connected' });
    for (const look of [...this.#waiting]) look();
  }

  dismiss(goodbye: Goodbye): void {
    for (const attached of [this.#control, this.#bulk]) attached?.lane.dismiss(goodbye);
  }

  close(): void {
    for (const attached of [this.#control, this.#bulk]) attached?.lane.close();
  }

  tell(event: AgentLinkEvent): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(event);
      } catch (err) {
        this.#logger.error({ err, server: this.serverId }, 'agent_listener_failed');
      }
    }
  }

  #detach(attached: Attached): void {
    if (this.#bulk === attached) this.#bulk = null;
    if (this.#control !== attached) return;
    this.#control = null;
    this.tell({ type: 'disconnected' });
    for (const look of [...this.#waiting]) look();
  }

  /** `bulk` may be a little behind. */
  #laneOf(lane: Lane): Promise<AgentLane> {
    const found = this.#find(lane);
    if (found !== null) return Promise.resolve(found);
    if (this.#control === null) return Promise.reject(unreachable());
    return new Promise((resolve, reject) => {
      const settle = (late: boolean): void => {
        const one = this.#find(lane);
        if (one === null && !late && this.#control !== null) return;
        cancel();
        this.#waiting.delete(look);
        if (one === null) reject(unreachable());
        else resolve(one);
      };
      const look = (): void => settle(false);
      const cancel = this.#clock.after(signMs, () => settle(true));
      this.#waiting.add(look);
    });
  }

  #find(lane: Lane): AgentLane | null {
    if (lane === 'control') return this.#control?.lane ?? null;
    const isOfSameRun = this.#bulk !== null && this.#bulk.run === this.#control?.run;
    return isOfSameRun ? (this.#bulk?.lane ?? null) : null;
  }
}
