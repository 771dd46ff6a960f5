/**
 * Owns how an agent's certificate is renewed: at two thirds of its life and a bit, over the link.
 *
 * 1. The old one stays good until its end, and is replaced in one step together with its key: whatever is lost on the
 *    way, the agent has one that is good.
 * 2. The time is the control plane's, as it says with each connection: the clock of the machine may be wrong, and be set at
 *    any time.
 * 3. A renewal that fails is tried again after `retryMs`, or after what the control plane asks for.
 */
import { X509Certificate } from 'node:crypto';

import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { isRecord } from '../../protocol/agent-wire.ts';
import { flawOf, newKey, requestFor } from './bootstrap.ts';
import type { Identity } from './identity.ts';

export interface RenewalOptions {
  identity: () => Identity;
  /** Of the control plane. */
  ask: (name: 'renew', message: unknown) => Promise<unknown>;
  /** Keeps it durably; from then on it is `identity()`. */
  store: (identity: Identity) => void;
  clock: Pick<Clock, 'after'>;
  /** Goes on evenly, from any beginning, whatever the clock of the machine is set to. */
  nowMs?: () => number;
  logger: Logger;
  /** 0 to 1. */
  random?: () => number;
}

const lookMs = 60_000;
const retryMs = 3_600_000;

export class Renewal {
  readonly #options: RenewalOptions;
  /** What all agents that were made together differ by. */
  readonly #share: number;
  readonly #nowMs: () => number;
  /** The control plane's time less `#nowMs`. */
  #offsetMs = 0;
  #notBeforeMs = 0;
  #isBusy = false;
  #isClosed = false;
  #cancel: () => void = () => undefined;

  constructor(options: RenewalOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#share = 2 / 3 + (options.random ?? Math.random)() / 20;
  }

  /** To be told with each connection, and then that it can be asked. */
  connected(controlNowMs: number): void {
    this.#offsetMs = controlNowMs - this.#nowMs();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  /** Asks for another certificate if it is time, now and from now on. */
  look(): void {
    this.#cancel();
    if (this.#isClosed) return;
    this.#cancel = this.#options.clock.after(lookMs, () => this.look());
    const nowMs = this.#now();
    if (this.#isBusy || nowMs < this.#notBeforeMs || nowMs < this.#dueMs()) return;
    this.#isBusy = true;
    this.#renew()
      .catch((err: unknown) => {
        const waitS = err instanceof ServiceError ? (err.retryAfterS ?? 0) : 0;
        this.#notBeforeMs = this.#now() + Math.max(waitS * 1000, retryMs);
        this.#options.logger.warn({ err }, 'certificate_not_renewed');
      })
      .finally(() => {
        this.#isBusy = false;
      });
  }

  #now(): number {
    return this.#nowMs() + this.#offsetMs;
  }

  #dueMs(): number {
    const { validFromDate, validToDate } = new X509Certificate(
      this.#options.identity().certificate,
    );
    const [fromMs, toMs] = [validFromDate.getTime(), validToDate.getTime()];
    return fromMs + (toMs - fromMs) * this.#share;
  }

  async #renew(): Promise<void> {
    const { identity, ask, store, logger } = this.#options;
    const key = newKey();
    const answer = await ask('renew', { csr: requestFor(key) });
    const { certificate } = isRecord(answer) ? answer : {};
    if (typeof certificate !== 'string') throw new Error('Cannot renew: there is no certificate');
    const flaw = flawOf(certificate, { ...identity(), key });
    if (flaw !== null) throw new Error(`Cannot renew: ${flaw}`);
    store({ ...identity(), key, certificate });
    logger.info({ until: new X509Certificate(certificate).validTo }, 'certificate_renewed');
  }
}
