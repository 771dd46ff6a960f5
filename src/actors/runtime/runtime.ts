/**
 * Owns all actors of this process: which kinds exist, which are active, and the way to them.
 *
 * 1. An address has one cell, and so one activation, at any time.
 * 2. After `drain` has begun only actors send messages; after `close` nothing is handled.
 */
import { pause } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Journal, Reader } from '../../store/reader-and-journal.ts';
import type { AlarmRecord } from '../../store/records/records.ts';
import type { Envelope } from './activation.ts';
import { Alarms } from './alarms.ts';
import { Cell, type CellParts } from './cell.ts';
import {
  type ActorDefinition,
  type ActorRef,
  type Actors,
  type AskOptions,
  type Cause,
  deadlineExceeded,
  defaultDeadlineMs,
  type MessageOf,
  type Protocol,
} from './actor.ts';

export type RuntimeStore = CellParts['store'] & Reader & Pick<Journal, 'subscribe'>;

export interface RuntimeOptions extends CellParts {
  store: RuntimeStore;
  /** Above this number, idle actors are passivated at once. Default 1,000. */
  idleMax?: number;
  /** Copies a message on its way; tests pass structuredClone to prove that messages are plain data. */
  carry?: <T>(message: T) => T;
  /** The request under way, for messages that come from outside. */
  causes?: { take(): Cause | null };
}

/** Actors that may exist at once; beyond it MAILBOX_FULL. */
const actorsMax = 200_000;
/** The time between two looks for idle actors. */
const sweepMs = 10_000;
const crowdStep = 10_000;

type Standing = 'open' | 'draining' | 'closed';

export class ActorRuntime implements Actors {
  readonly #options: RuntimeOptions;
  readonly #definitions = new Map<string, ActorDefinition<Protocol>>();
  readonly #cells = new Map<string, Cell>();
  readonly #alarms: Alarms;
  /** For our own parts that are no actors: they are answered while outsiders are refused. */
  readonly inside: Actors;
  readonly #unsubscribe: () => void;
  #cancelSweep: () => void = () => undefined;
  /** At this number of actors, idle ones are looked for. */
  #crowd: number;
  #standing: Standing = 'open';

  constructor(options: RuntimeOptions) {
    this.#options = options;
    this.#crowd = this.#idleMax;
    // Actors may still send messages to each other while outsiders are refused.
    this.inside = {
      ask: (to, message, ask) => this.#ask(to, message, ask),
      tell: (to, message) => this.#tell(to, message),
    };
    this.#alarms = new Alarms({
      reader: options.store,
      clock: options.clock,
      fire: (alarm) => this.#fire(alarm),
    });
    this.#unsubscribe = options.store.subscribe((entry) => this.#alarms.onEntry(entry));
  }

  register<P extends Protocol>(definition: ActorDefinition<P>): void {
    const { kind } = definition.kind;
    if (this.#definitions.has(kind)) throw new Error(`Cannot register ${kind}: it exists`);
    // The map forgets P; `ask` and `tell` restore it from the type of the reference.
    this.#definitions.set(kind, definition as unknown as ActorDefinition<Protocol>);
  }

  /** Begins to tell alarms; call it once every kind is registered. */
  start(): void {
    this.#alarms.start();
    this.#scheduleSweep();
  }

  async ask<P extends Protocol, T extends keyof P & string>(
    to: ActorRef<P>,
    message: { type: T } & P[T]['in'],
    options?: AskOptions,
  ): Promise<P[T]['out']> {
    this.#refuseOutsiders();
    const cause = options?.cause ?? this.#options.causes?.take();
    return await this.#ask(to, message, cause ? { ...options, cause } : options);
  }

  tell<P extends Protocol>(to: ActorRef<P>, message: MessageOf<P>): void {
    this.#refuseOutsiders();
    this.#tell(to, message);
  }

  /** Active actors and waiting messages, for the metrics. */
  stats(): { actors: number; waiting: number } {
    let waiting = 0;
    for (const cell of this.#cells.values()) waiting += cell.waiting;
    return { actors: this.#cells.size, waiting };
  }

  /** Refuses messages from outside and resolves when every mailbox is empty and durable. */
  async drain(): Promise<void> {
    if (this.#standing === 'open') this.#standing = 'draining';
    while ([...this.#cells.values()].some((cell) => !cell.quiet && cell.phase !== 'resting')) {
      await pause(this.#options.clock, 5);
    }
  }

  /** Ends every actor; waiting messages are refused. Twice is fine. */
  async close(): Promise<void> {
    if (this.#standing === 'closed') return;
    this.#standing = 'closed';
    this.#cancelSweep();
    this.#alarms.close();
    this.#unsubscribe();
    await Promise.all([...this.#cells.values()].map((cell) => cell.close()));
    this.#cells.clear();
  }

  #refuseOutsiders(): void {
    if (this.#standing !== 'open') {
      throw new ServiceError('SHUTTING_DOWN', 'The service is stopping.');
    }
  }

  #ask<P extends Protocol, T extends keyof P & string>(
    to: ActorRef<P>,
    message: { type: T } & P[T]['in'],
    { deadlineMs = defaultDeadlineMs, cause }: AskOptions = {},
  ): Promise<P[T]['out']> {
    return new Promise((resolve, reject) => {
      const envelope: Envelope = {
        message,
        ...(cause && { cause }),
        answered: false,
        resolve: (reply) => {
          if (envelope.answered) return;
          envelope.answered = true;
          cancel();
          resolve(this.#carry(reply));
        },
        reject: (error) => {
          if (envelope.answered) return;
          envelope.answered = true;
          cancel();
          reject(error);
        },
      };
      const cancel = this.#options.clock.after(deadlineMs, () =>
        envelope.reject(deadlineExceeded()),
      );
      this.#deliver(to, envelope);
    });
  }

  #tell<P extends Protocol>(to: ActorRef<P>, message: MessageOf<P>): void {
    const { logger } = this.#options;
    let refused: ServiceError | undefined;
    let delivering = true;
    this.#deliver(to, {
      message,
      answered: false,
      resolve: noop,
      reject: (error) => {
        if (delivering) refused = error;
        logger.warn(
          { actor: `${to.kind}:${to.id}`, message: message.type, err: error },
          'tell_failed',
        );
      },
    });
    delivering = false;
    if (refused?.code === 'MAILBOX_FULL') throw refused;
  }

  #fire({ actor, name, atMs, message }: Readonly<AlarmRecord>): void {
    const alarm = { name, atMs };
    const reject = (error: ServiceError): void => {
      this.#options.logger.warn({ actor, alarm: name, err: error }, 'alarm_failed');
      // A message that never reached the actor comes again.
      if (error.code === 'MAILBOX_FULL') this.#alarms.handled(actor, alarm, false);
    };
    const told = { message: message as { type: string }, answered: false, resolve: noop };
    this.#deliver(refOf(actor), { ...told, reject, alarm });
  }

  #deliver(to: ActorRef<Protocol>, envelope: Envelope): void {
    if (this.#standing === 'closed') {
      envelope.reject(new ServiceError('SHUTTING_DOWN', 'The service is stopping.'));
      return;
    }
    envelope.message = this.#carry(envelope.message);
    const address = `${to.kind}:${to.id}`;
    let cell = this.#cells.get(address);
    if (cell === undefined) {
      if (this.#cells.size >= actorsMax) {
        envelope.reject(new ServiceError('MAILBOX_FULL', 'Too much is going on; retry.'));
        return;
      }
      if (this.#cells.size >= this.#crowd) this.#sweep(0);
      cell = this.#createCell(to);
      this.#cells.set(address, cell);
    }
    cell.deliver(envelope);
  }

  #createCell(to: ActorRef<Protocol>): Cell {
    const definition = this.#definitions.get(to.kind);
    if (definition === undefined) throw new Error(`Cannot reach ${to.kind}:${to.id}: unknown kind`);
    return new Cell({
      ref: { kind: to.kind, id: to.id },
      definition,
      actors: this.inside,
      parts: this.#options,
      alarms: this.#alarms,
    });
  }

  get #idleMax(): number {
    return this.#options.idleMax ?? 1_000;
  }

  /**
   * Passivates actors that were idle for long; in a crowd, all idle actors. So a storm of messages to ever
   * new actors leaves few behind, and short-lived objects cost the collector next to nothing.
   */
  #sweep(idleMaxMs: number): void {
    const nowMs = this.#options.clock.now();
    for (const [address, cell] of this.#cells) {
      if (cell.passivate(nowMs, idleMaxMs)) this.#cells.delete(address);
    }
    // When all are busy, another look so soon would find nothing again.
    const { size } = this.#cells;
    this.#crowd = Math.max(this.#idleMax, Math.min(size * 2, size + crowdStep));
  }

  #scheduleSweep(): void {
    this.#cancelSweep = this.#options.clock.after(sweepMs, () => {
      this.#sweep(Infinity);
      this.#scheduleSweep();
    });
  }

  #carry<T>(value: T): T {
    return this.#options.carry === undefined ? value : this.#options.carry(value);
  }
}

function refOf(address: string): ActorRef<Protocol> {
  const colon = address.indexOf(':');
  return { kind: address.slice(0, colon), id: address.slice(colon + 1) };
}

function noop(): void {
  // Nobody waits for the reply of a told message.
}
