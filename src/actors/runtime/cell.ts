/**
 * Owns one address: its mailbox and the phases of the actor behind it.
 *
 *   dormant --message--> activating --> active --idle--> ending --> dormant
 *                            |             |
 *                            +--- crash ---+--> ending --> resting --backoff--> dormant
 *
 * 1. One message is handled at a time, in the order of arrival. The next one begins when the previous
 *    handler has returned, which may be before its commit is durable.
 * 2. A crash answers the message that caused it with INTERNAL. The waiting messages stay.
 * 3. A new activation begins only when no commit of the previous one is under way.
 * 4. An activation that was discarded with work of its own under way is followed by another at once,
 *    because no message may ever come, and the stored state says how to continue. Otherwise the next
 *    message begins a new activation.
 */
import type { Clock } from '../../lib/clock.ts';
import { asServiceError, ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { Activation, type Envelope } from './activation.ts';
import type { Alarms } from './alarms.ts';
import { Backoff } from './backoff.ts';
import type { Actor, ActorDefinition, ActorRef, Actors, Protocol, RecordCause } from './actor.ts';
import type { CommitRequest, Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';

type Phase =
  | { name: 'dormant' }
  | { name: 'activating'; activation: Activation }
  | { name: 'active'; activation: Activation; actor: Actor<Protocol> }
  | { name: 'ending' }
  | { name: 'resting'; cancel: () => void }
  | { name: 'closed' };

export interface CellParts {
  store: Pick<Reader, 'get'> & {
    commit(request: CommitRequest): Promise<number>;
    /** A number above every earlier one of this actor. */
    nextEpoch(actor: string): number;
  };
  clock: Clock;
  logger: Logger;
  /** How long the end waits for owned work that ignores its signal. Default 5,000. */
  endingMs?: number;
  /** Default: causes are not recorded. */
  recordCause?: RecordCause;
}

export interface CellOptions {
  ref: ActorRef<Protocol>;
  definition: ActorDefinition<Protocol>;
  actors: Actors;
  parts: CellParts;
  alarms: Pick<Alarms, 'handled'>;
}

const reviveMinMs = 1000;

export class Cell {
  readonly address: string;
  readonly #options: CellOptions;
  readonly #mailbox: Envelope[] = [];
  readonly #backoff = new Backoff();
  readonly #revivals = new Backoff();
  #cancelRevival: (() => void) | null = null;
  #phase: Phase = { name: 'dormant' };
  #pumping = false;
  #lastActiveMs: number;

  constructor(options: CellOptions) {
    this.#options = options;
    this.address = `${options.ref.kind}:${options.ref.id}`;
    this.#lastActiveMs = options.parts.clock.now();
  }

  get phase(): Phase['name'] {
    return this.#phase.name;
  }

  get waiting(): number {
    return this.#mailbox.length;
  }

  /** Nothing waits and nothing runs; `drain` waits for this. */
  get quiet(): boolean {
    if (this.#mailbox.length > 0 || this.#pumping) return false;
    return this.#phase.name !== 'active' || this.#phase.activation.pendingCommits === 0;
  }

  deliver(envelope: Envelope): void {
    if (this.#phase.name === 'closed') {
      envelope.reject(new ServiceError('SHUTTING_DOWN', 'The service is stopping.'));
      return;
    }
    const { mailboxMax = 1024 } = this.#options.definition;
    // A report is always accepted: the work that reports is limited by itself.
    if (this.#mailbox.length >= mailboxMax && envelope.report === undefined) {
      envelope.reject(new ServiceError('MAILBOX_FULL', 'Too many requests wait for this; retry.'));
      return;
    }
    this.#mailbox.push(envelope);
    this.#wake();
  }

  /** Passivates when the actor was idle for long, or for `idleMaxMs`; true when the cell may be forgotten. */
  passivate(nowMs: number, idleMaxMs = Infinity): boolean {
    const phase = this.#phase;
    if (this.#pumping || this.#mailbox.length > 0) return false;
    if (phase.name === 'dormant') return this.#cancelRevival === null;
    if (phase.name !== 'active' || phase.activation.busy) return false;
    const { idleMs = 60_000 } = this.#options.definition;
    if (idleMs === Infinity) return false;
    if (nowMs - this.#lastActiveMs < Math.min(idleMs, idleMaxMs)) return false;
    // The activation is not busy, so there is nothing to wait for.
    phase.activation.end('passivated');
    this.#phase = { name: 'dormant' };
    return true;
  }

  async close(): Promise<void> {
    const phase = this.#phase;
    this.#phase = { name: 'closed' };
    this.#endRevival();
    for (let next = this.#mailbox.shift(); next; next = this.#mailbox.shift()) {
      next.reject(new ServiceError('SHUTTING_DOWN', 'The service is stopping.'));
    }
    switch (phase.name) {
      case 'active':
        phase.activation.end('closed');
        await this.#settle(phase.activation);
        return;
      case 'activating':
        phase.activation.end('closed');
        return;
      case 'resting':
        phase.cancel();
        return;
      case 'dormant':
      case 'ending':
      case 'closed':
        return;
    }
  }

  #wake(): void {
    if (this.#phase.name === 'dormant') void this.#activate();
    else if (this.#phase.name === 'active' && !this.#pumping) void this.#pump();
  }

  async #activate(): Promise<void> {
    this.#endRevival();
    const { ref, actors, parts } = this.#options;
    const epoch = parts.store.nextEpoch(this.address);
    const activation = new Activation({ ref, epoch, actors, parts, cell: this });
    this.#phase = { name: 'activating', activation };
    try {
      const actor = await this.#options.definition.activate(activation);
      if (activation.ended) return;
      this.#phase = { name: 'active', activation, actor };
      this.#lastActiveMs = this.#options.parts.clock.now();
      void this.#pump();
    } catch (thrown) {
      this.#activationFailed(activation, thrown);
    }
  }

  #activationFailed(activation: Activation, thrown: unknown): void {
    if (activation.ended) return;
    if (!(thrown instanceof ServiceError)) {
      this.discard(activation, thrown, true);
      return;
    }
    // The activation failed with an answer, such as NOT_FOUND: every waiting message gets it, and the
    // address sleeps again.
    for (let next = this.#mailbox.shift(); next; next = this.#mailbox.shift()) {
      next.reject(thrown);
      if (next.alarm) this.#options.alarms.handled(this.address, next.alarm, true);
    }
    void this.#end(activation, thrown.code, 0);
  }

  async #pump(): Promise<void> {
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      while (this.#phase.name === 'active') {
        const envelope = this.#mailbox.shift();
        if (envelope === undefined) break;
        if (!envelope.answered) await this.#handle(this.#phase, envelope);
      }
    } finally {
      this.#pumping = false;
      this.#lastActiveMs = this.#options.parts.clock.now();
    }
    // A crash may have brought a new activation while the last handler was still returning.
    if (this.#phase.name === 'active' && this.#mailbox.length > 0) void this.#pump();
  }

  async #handle(phase: Phase & { name: 'active' }, envelope: Envelope): Promise<void> {
    const { activation, actor } = phase;
    const handler = envelope.report ?? actor[envelope.message.type];
    if (handler === undefined) {
      envelope.reject(new ServiceError('INTERNAL', 'This message is not known here.'));
      return;
    }
    activation.beginMessage(envelope.cause);
    try {
      const pending = handler(envelope.message);
      const reply = isPromise(pending) ? await pending : pending;
      if (envelope.cause?.always === true) activation.recordCause();
      activation.endMessage();
      await this.#finishAlarm(activation, envelope);
      activation.gate(() => envelope.resolve(reply), envelope.reject);
    } catch (thrown) {
      activation.endMessage();
      if (thrown instanceof ServiceError) {
        await this.#finishAlarm(activation, envelope);
        activation.gate(() => envelope.reject(thrown), envelope.reject);
        return;
      }
      envelope.reject(asServiceError(thrown));
      if (envelope.alarm) this.#options.alarms.handled(this.address, envelope.alarm, false);
      this.discard(activation, thrown, true);
    }
  }

  /**
   * An alarm is over when its message was handled, unless the handler set or cleared it itself, or it was set anew
   * while its message was on its way.
   */
  async #finishAlarm(activation: Activation, envelope: Envelope): Promise<void> {
    const { alarm } = envelope;
    if (alarm === undefined) return;
    if (!activation.alarmsTouched.has(alarm.name)) {
      // Only then do reads see what earlier messages set.
      await activation.settled();
      const stored = this.#options.parts.store.get(tables.alarms, [this.address, alarm.name]);
      if (stored?.atMs === alarm.atMs && !activation.ended) {
        void activation.commit([activation.clearAlarm(alarm.name)]);
      }
    }
    activation.gate(
      () => this.#options.alarms.handled(this.address, alarm, true),
      () => this.#options.alarms.handled(this.address, alarm, false),
    );
  }

  discard(activation: Activation, error: unknown, crashed: boolean): void {
    const phase = this.#phase;
    const current =
      (phase.name === 'active' || phase.name === 'activating') && phase.activation === activation;
    if (!current) return;
    const { clock, logger } = this.#options.parts;
    const restMs = crashed ? this.#backoff.crashed(clock.now()) : 0;
    if (crashed) logger.error({ actor: this.address, restMs, err: error }, 'actor_crashed');
    else logger.warn({ actor: this.address, err: error }, 'actor_discarded');
    if (activation.works.length > 0) this.#reviveLater(restMs);
    void this.#end(activation, 'discarded', restMs);
  }

  /** Runs in the background, so that the sender of a message does not wait for it. */
  #reviveLater(restMs: number): void {
    this.#endRevival();
    const { clock } = this.#options.parts;
    const delayMs = restMs + Math.max(reviveMinMs, this.#revivals.crashed(clock.now()));
    this.#cancelRevival = clock.after(delayMs, () => {
      this.#cancelRevival = null;
      if (this.#phase.name === 'dormant') this.#wake();
      // The earlier activation has not ended yet.
      else if (this.#phase.name === 'ending' || this.#phase.name === 'resting')
        this.#reviveLater(0);
    });
  }

  #endRevival(): void {
    this.#cancelRevival?.();
    this.#cancelRevival = null;
  }

  async #end(activation: Activation, reason: string, restMs: number): Promise<void> {
    this.#phase = { name: 'ending' };
    activation.end(reason);
    await this.#settle(activation);
    this.#rest(restMs);
  }

  #rest(restMs: number): void {
    // `close` may have run meanwhile.
    if (this.#phase.name !== 'ending') return;
    if (restMs > 0) {
      const cancel = this.#options.parts.clock.after(restMs, () => {
        this.#phase = { name: 'dormant' };
        if (this.#mailbox.length > 0) this.#wake();
      });
      this.#phase = { name: 'resting', cancel };
      return;
    }
    this.#phase = { name: 'dormant' };
    if (this.#mailbox.length > 0) this.#wake();
  }

  async #settle(activation: Activation): Promise<void> {
    const { clock, logger, endingMs = 5000 } = this.#options.parts;
    const { promise: late, resolve } = Promise.withResolvers<'late'>();
    const cancel = clock.after(endingMs, () => resolve('late'));
    const outcome = await Promise.race([activation.idle(), late]);
    cancel();
    if (outcome === 'late') {
      logger.error({ actor: this.address, works: activation.works }, 'actor_work_outlives_it');
    }
    await activation.settled();
  }
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value;
}
