/**
 * Owns one connection to the control plane that is made again and again, for ever: after each that was lost, after a
 * pause that grows and is never the same for two agents.
 */
import tls from 'node:tls';

import { pause, whenLate } from '../../../lib/clock.ts';
import { type Lane } from '../../../protocol/agent-link.ts';
import { type Goodbye, laneHosts } from '../../../protocol/agent-wire.ts';
import { ServedLane, type ServedLaneOptions } from './served-lane.ts';

export interface Credentials {
  /** PEM. */
  key: string;
  certificate: string;
  ca: string;
}

export interface DialerOptions extends Omit<ServedLaneOptions, 'socket' | 'onGoodbye'> {
  lane: Lane;
  host: string;
  port: number;
  /** Asked before each try. */
  credentials: () => Credentials;
  /** `certificate`: what it was dialed with. */
  onGoodbye: (goodbye: Goodbye, certificate: string) => void;
  pauseMinMs?: number;
  pauseMaxMs?: number;
  /** 0 to 1. */
  random?: () => number;
}

const dialMs = 10_000;
/** A connection that was good for so long makes the next pause a short one. */
const goodMs = 10_000;
/** After one that another release, another process with this identity, or somebody's clock is the reason for. */
const longPauseMs = 60_000;

export class Dialer {
  readonly #options: DialerOptions;
  readonly #closed = new AbortController();
  #lane: ServedLane | null = null;
  #wantsLongPause = false;
  #running: Promise<void> | null = null;

  constructor(options: DialerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#lane?.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, logger, lane, host, port } = this.#options;
    const { pauseMinMs = 500, pauseMaxMs = 15_000, random = Math.random } = this.#options;
    let pauseMs = pauseMinMs;
    while (!this.#closed.signal.aborted) {
      const startedAtMs = clock.now();
      try {
        await this.#once();
        logger.info({ lane }, 'agent_disconnected');
      } catch (err) {
        logger.warn({ err, lane, host, port }, 'agent_not_connected');
      }
      if (clock.now() - startedAtMs > goodMs) pauseMs = pauseMinMs;
      const wholeMs = this.#wantsLongPause ? longPauseMs : pauseMs;
      this.#wantsLongPause = false;
      pauseMs = Math.min(pauseMs * 2, pauseMaxMs);
      await pause(clock, wholeMs * (0.5 + random() / 2), this.#closed.signal).catch(
        () => undefined,
      );
    }
  }

  async #once(): Promise<void> {
    const { logger, lane, credentials } = this.#options;
    const given = credentials();
    const socket = await this.#dial(given);
    const served = new ServedLane({
      ...this.#options,
      socket,
      onGoodbye: (goodbye) => {
        const isSame = credentials().certificate === given.certificate;
        this.#wantsLongPause =
          ['version', 'replaced'].includes(goodbye.reason) ||
          (goodbye.reason === 'expired' && isSame);
        this.#options.onGoodbye(goodbye, given.certificate);
      },
    });
    this.#lane = served;
    if (this.#closed.signal.aborted) served.close();
    logger.debug({ lane }, 'agent_dialed');
    await served.ended;
    this.#lane = null;
  }

  #dial({ key, certificate, ca }: Credentials): Promise<tls.TLSSocket> {
    const { lane, host, port, clock } = this.#options;
    return new Promise((resolve, reject) => {
      const socket = tls.connect({
        ...{ host, port, key, cert: certificate, ca },
        servername: laneHosts[lane],
        ALPNProtocols: ['h2'],
        minVersion: 'TLSv1.3',
      });
      const give = (error: Error): void => {
        cancel();
        socket.destroy();
        reject(error);
      };
      const stop = (): void => give(new Error('Cannot dial: the agent ends'));
      const cancel = whenLate(clock, dialMs, () => give(new Error('Cannot dial: no answer')));
      this.#closed.signal.addEventListener('abort', stop, { once: true });
      socket.once('error', give);
      socket.once('close', () => {
        this.#closed.signal.removeEventListener('abort', stop);
        give(new Error('Cannot dial: closed before the handshake was over'));
      });
      socket.once('secureConnect', () => {
        cancel();
        socket.off('error', give);
        socket.on('error', () => undefined); // 'close' follows.
        socket.setNoDelay(true);
        if (socket.alpnProtocol === 'h2') resolve(socket);
        else give(new Error('Cannot dial: what answers is no agent port'));
      });
    });
  }
}
