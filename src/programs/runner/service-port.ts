/**
 * Owns the port of one workload on the machine.
 *
 * 1. While a service does not run, its port is nobody else's, unless somebody took it at the moment of its end.
 * 2. A service in a network of its own has its port there, and none on the machine; nor has one that listens on
 *    a Unix socket alone. The port of a database is asked for on the machine all the same: it is held there, and
 *    leads to the database while that runs.
 */
import type { HeldPorts } from '../../lib/processes/held-ports.ts';
import type { OwnPlace } from '../../protocol/edge-messages.ts';
import type { WorkloadSpec } from '../../protocol/workload.ts';
import type { OwnSocket } from '../../lib/untrusted-files/socket.ts';
import type { WorkloadNetwork } from './network/networks.ts';

export interface ServicePortParts {
  ports: HeldPorts;
  /** Whether anybody listens there. */
  isTaken: (port: number) => Promise<boolean>;
}

type PortSpec = Pick<WorkloadSpec, 'kind' | 'port' | 'keepsPort' | 'behind' | 'uid' | 'command'>;

export class ServicePort {
  readonly #spec: PortSpec;
  readonly #parts: ServicePortParts;
  readonly #socket: OwnSocket | undefined;
  #isElsewhere = false;
  #isTaken = false;
  #place: OwnPlace | undefined;

  constructor(spec: PortSpec, { ports, isTaken }: ServicePortParts) {
    this.#spec = spec;
    this.#parts = { ports, isTaken };
    const { uid, behind } = spec;
    // Without a uid of its own nothing would tell who comes, nor whose socket it is.
    this.#socket = uid === null || behind === undefined ? undefined : { path: behind.socket, uid };
  }

  /** Whether it was somebody else's when it was to be held. */
  get isTaken(): boolean {
    return this.#isTaken;
  }

  /** Where it is in a network of its own; the very same for the same address. */
  placeIn({ address }: Pick<WorkloadNetwork, 'address'>): OwnPlace | undefined {
    const { port } = this.#spec;
    if (port === null) return undefined;
    if (this.#place?.host !== address) this.#place = { host: address, port };
    return this.#place;
  }

  /** Whether it is somebody else's while the program runs, which does not need it. */
  get isLost(): boolean {
    return this.#isElsewhere && this.#isTaken;
  }

  /** On which it listens alone, the very same for ever; undefined: on its port. `isInside`: in its own network. */
  socketFor(isInside: boolean): OwnSocket | undefined {
    return isInside ? undefined : this.#socket;
  }

  commandFor(isInside: boolean): readonly string[] {
    const { behind, command } = this.#spec;
    return this.socketFor(isInside) === undefined ? command : (behind?.command ?? command);
  }

  /** The program is about to run. */
  open(isInside: boolean): void {
    this.#isElsewhere = isInside || this.#socket !== undefined;
    const { port } = this.#spec;
    if (port === null) return;
    if (this.#isElsewhere && this.#isAskedForHere) void this.hold();
    else this.#parts.ports.letGo(port);
  }

  /** The program does not run. */
  async hold(): Promise<void> {
    const { kind, port } = this.#spec;
    if (kind !== 'service' || port === null) return;
    if (this.#isElsewhere && !this.#isAskedForHere) return;
    const on = this.#isAskedForHere ? 'loopback' : 'everywhere';
    const isHeld = await this.#parts.ports.hold(port, on);
    this.#isTaken = !isHeld && (await this.#parts.isTaken(port));
  }

  get #isAskedForHere(): boolean {
    return this.#spec.keepsPort === true;
  }
}
