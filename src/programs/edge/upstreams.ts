/**
 * Owns the connections from the edge to apps.
 *
 * 1. A request gets its connection only once that is established. So when an app refuses the connection, no
 *    part of the body was sent, and the request can go elsewhere.
 * 2. Nothing is sent over a connection to a workload before it is shown who took it. In a network of the
 *    workload's own, at the address that it had before the connection was opened and still has, that is
 *    nobody else. On the machine's, one of its own sockets listened there before and still does: meanwhile
 *    nobody else could.
 * 3. So many connections to a target are kept unused, and none once no route leads there.
 */
import type { OwnPlace, Target, Tenants } from '../../protocol/edge-messages.ts';
import { type AppAddress, AppConnection } from './http1/app-connection.ts';
import { TargetTurns } from './request-turns.ts';
import type { Watch } from './watch.ts';

const idlePerTargetMax = 256;
/** The second time nothing that was seen earlier counts. */
const triesMax = 2;

/** Somebody else took the connection, or nobody is known to have. */
class NotItsOwn extends Error {
  readonly code = 'ENOTOWN';

  constructor() {
    super('Cannot connect: it is not the workload that listens there');
    this.name = 'NotItsOwn';
  }
}

export interface UpstreamsOptions {
  tenants: Tenants;
  watch: Watch;
  /** Whether requests may go there still. */
  isWanted: (target: Target) => boolean;
}

export class Upstreams {
  readonly #options: UpstreamsOptions;
  /** A target's own: what two of them have at the same address is not the same. */
  readonly #upstreams = new Map<Target, Upstream>();

  constructor(options: UpstreamsOptions) {
    this.#options = options;
  }

  of(target: Target): Upstream {
    const known = this.#upstreams.get(target);
    if (known !== undefined) return known;
    this.#closeUnwanted();
    const upstream = new Upstream(target, this.#options);
    this.#upstreams.set(target, upstream);
    return upstream;
  }

  close(): void {
    for (const upstream of this.#upstreams.values()) upstream.close();
    this.#upstreams.clear();
  }

  #closeUnwanted(): void {
    for (const [target, upstream] of this.#upstreams) {
      if (this.#options.isWanted(target)) continue;
      upstream.close();
      this.#upstreams.delete(target);
    }
  }
}

/** The connections to one target. */
export class Upstream {
  readonly target: Target;
  readonly turns = new TargetTurns();
  readonly #options: UpstreamsOptions;
  /** The one used last is the last. */
  readonly #idle: AppConnection[] = [];
  #isClosed = false;
  /** The sockets that listened there when that was looked at last. */
  #seen: ReadonlySet<string> | undefined;

  constructor(target: Target, options: UpstreamsOptions) {
    this.target = target;
    this.#options = options;
  }

  get hasIdle(): boolean {
    return this.#idle.length > 0;
  }

  /** One that is kept, if there is any. */
  takeIdle(): AppConnection | undefined {
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined || connection.isKept) return connection;
      connection.destroy();
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  /** Rejects when it is not the target's workload that listens there; see 2. */
  async connect(): Promise<AppConnection> {
    const { target } = this;
    const { tenants } = this.#options;
    if (target.socket !== undefined) return this.#open({ path: target.socket });
    if (target.workload === undefined) return this.#open(target);
    const place = tenants.ownPlace(target);
    if (place !== undefined) return this.#connectInside(place);
    for (let tries = 0; tries < triesMax; tries++) {
      const before = this.#seen ?? (await tenants.ownSockets(target));
      if (before.size === 0) break;
      const connection = await this.#open(target);
      const after = await tenants.ownSockets(target);
      this.#seen = after.size === 0 ? undefined : after;
      const isSame = [...after].some((listener) => before.has(listener));
      if (isSame && connection.isOpen) return connection;
      connection.destroy();
    }
    throw new NotItsOwn();
  }

  async #connectInside(place: OwnPlace): Promise<AppConnection> {
    const { tenants } = this.#options;
    const connection = await this.#open(place).catch(async (error: unknown) => {
      if (!(await tenants.leadIn(this.target))) throw error;
      return this.#open(place);
    });
    if (tenants.ownPlace(this.target) === place) return connection;
    connection.destroy();
    throw new NotItsOwn();
  }

  #open(at: AppAddress): Promise<AppConnection> {
    const release = (connection: AppConnection): void => this.#keep(connection);
    const address = 'path' in at ? at : { host: at.host, port: at.port };
    return AppConnection.open(address, this.#options.watch, release);
  }

  #keep(connection: AppConnection): void {
    if (this.#isClosed || this.#idle.length >= idlePerTargetMax) connection.destroy();
    else this.#idle.push(connection);
  }
}
