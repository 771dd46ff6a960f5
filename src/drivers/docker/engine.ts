/**
 * Owns the way to a Docker daemon: the client, loaded when it is first needed, and what a failed
 * request means.
 *
 * 1. A daemon that is away is asked again until the time of the request is over; then it is
 *    AGENT_UNREACHABLE. Only requests that may be made twice go through `ask`.
 * 2. Every request ends: with an answer, with its time, or with `close`.
 */
import { connect } from 'node:net';

import type Dockerode from 'dockerode';

import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';

export interface EngineOptions {
  /** `/path/of.sock`, `unix:///path/of.sock` or `tcp://host:port`. */
  socket: string;
  clock: Clock;
  /** Over all attempts of one request. */
  requestTimeoutMs: number;
}

export interface Asking {
  /** Over all attempts; Infinity: as long as it takes. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

const retryMinMs = 20;
const retryMaxMs = 500;
const visitMs = 1000;
/** Codes of a daemon that is not there, or went while it was asked. */
const awayCodes: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'ENOTSOCK',
  'EPIPE',
  'ETIMEDOUT',
]);

export class Engine {
  readonly #options: EngineOptions;
  readonly #closed = new AbortController();
  #docker: Promise<Dockerode> | undefined;

  constructor(options: EngineOptions) {
    this.#options = options;
  }

  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** The client itself, for what is no single question. */
  client(): Promise<Dockerode> {
    this.#docker ??= load(this.#options.socket);
    return this.#docker;
  }

  /** Asks until there is an answer; what the daemon refuses is thrown as it is. */
  async ask<T>(
    question: (docker: Dockerode, signal: AbortSignal) => Promise<T>,
    asking: Asking = {},
  ): Promise<T> {
    const { clock, requestTimeoutMs } = this.#options;
    const docker = await this.client();
    const timeoutMs = asking.timeoutMs ?? requestTimeoutMs;
    // One of its own for each question: what hangs on it goes with it.
    const over = new AbortController();
    const end = (): void => {
      over.abort();
    };
    const cancel = timeoutMs === Infinity ? null : clock.after(timeoutMs, end);
    for (const outer of [this.#closed.signal, asking.signal]) {
      if (outer?.aborted) end();
      else outer?.addEventListener('abort', end);
    }
    const { signal } = over;
    try {
      for (let pauseMs = retryMinMs; ; pauseMs = Math.min(pauseMs * 2, retryMaxMs)) {
        try {
          signal.throwIfAborted();
          return await Promise.race([question(docker, signal), abortOf(signal)]);
        } catch (error) {
          asking.signal?.throwIfAborted();
          if (signal.aborted) throw unreachable(error);
          if (!isAway(error)) throw error;
        }
        await pause(pauseMs, signal);
      }
    } finally {
      cancel?.();
      this.#closed.signal.removeEventListener('abort', end);
      asking.signal?.removeEventListener('abort', end);
    }
  }

  /**
   * Whether the daemon takes no more visitors: one that ends does so first, and what it still says of
   * its own failures on connections that are open is no answer.
   */
  isEnding(): Promise<boolean> {
    const { socket } = this.#options;
    return new Promise((resolve) => {
      const visitor = connect(addressOf(socket));
      const done = (isEnding: boolean): void => {
        visitor.destroy();
        resolve(isEnding);
      };
      visitor.setTimeout(visitMs, () => {
        done(true);
      });
      visitor.once('connect', () => {
        done(false);
      });
      visitor.once('error', () => {
        done(true);
      });
    });
  }

  close(): void {
    this.#closed.abort();
  }
}

async function load(socket: string): Promise<Dockerode> {
  const { default: Client } = await import('dockerode');
  // Named one by one: what is left out would come from the DOCKER_ variables of the environment.
  const none = { host: undefined, port: undefined, ca: undefined, cert: undefined, key: undefined };
  const address = addressOf(socket);
  return 'path' in address
    ? new Client({ ...none, protocol: 'http', socketPath: address.path })
    : new Client({ protocol: 'http', ...address });
}

function addressOf(socket: string): { path: string } | { host: string; port: number } {
  if (!/^(tcp|http):\/\//.test(socket)) return { path: socket.replace(/^unix:\/\//, '') };
  const { hostname, port } = new URL(socket.replace(/^tcp:/, 'http:'));
  return { host: hostname, port: Number(port || 2375) };
}

/** Rejects when aborted: a connection that breaks within an answer leaves the client waiting. */
function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener(
      'abort',
      () => {
        reject(new Error('Cannot wait for the daemon: aborted'));
      },
      { once: true },
    );
  });
}

/** Resolves after `delayMs`, or at once when aborted. Holds the process: somebody waits. */
export function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, delayMs);
    if (signal.aborted) done();
    else signal.addEventListener('abort', done);
  });
}

/** The HTTP status a daemon refused with; undefined for all else. */
export function statusOf(error: unknown): number | undefined {
  const status = (error as { statusCode?: unknown } | null)?.statusCode;
  return typeof status === 'number' ? status : undefined;
}

/** What the daemon said, without the client's words around it. */
export function wordsOf(error: unknown): string {
  const said = (error as { json?: { message?: unknown } } | null)?.json?.message;
  if (typeof said === 'string') return said.trim();
  return error instanceof Error ? error.message.trim() : String(error);
}

/** Whether the daemon is not reached, rather than refusing. */
export function isAway(error: unknown): boolean {
  if (statusOf(error) !== undefined) return false;
  const { code, message } = error as NodeJS.ErrnoException;
  return awayCodes.has(code) || /socket hang up|aborted/.test(message);
}

/** Answers undefined where the daemon knows no such thing. */
export async function orGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

export function unreachable(cause?: unknown): ServiceError {
  return new ServiceError('AGENT_UNREACHABLE', 'The Docker daemon does not answer.', { cause });
}
