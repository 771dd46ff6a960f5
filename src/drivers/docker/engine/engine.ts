/**
 * Owns the requests to a Docker daemon: the client, loaded when it is first needed, and what a failed
 * request means.
 *
 * 1. While the daemon is away, a request that may be sent twice is sent again until its time is over.
 *    Then it is AGENT_UNREACHABLE.
 * 2. Every request ends and gives its connection back: when it is answered, when its time is over, or
 *    with `close`. A stream has to begin in time. It ends when its opener ends it, or, with
 *    `watchOver`, when the daemon hangs.
 */
import { setTimeout } from 'node:timers/promises';
import { EventEmitter } from 'node:events';
import { Agent } from 'node:http';
import type { Duplex } from 'node:stream';
import { inspect } from 'node:util';

import type Dockerode from 'dockerode';

import { type Clock, whenLate } from '../../../lib/clock.ts';
import { accepts } from '../../../lib/connect.ts';
import { ServiceError } from '../../../lib/errors.ts';
import { LogBroken } from '../logs/stream-frames.ts';

export interface EngineOptions {
  /** `/path/of.sock`, `unix:///path/of.sock` or `tcp://host:port`. */
  socket: string;
  clock: Clock;
  /** Over all attempts of one request. */
  requestTimeoutMs: number;
}

export interface Asking {
  /** Over all attempts. */
  timeoutMs?: number;
  signal?: AbortSignal;
  /** No second attempt: the request must not be sent twice, or is not worth waiting for. */
  once?: boolean;
}

/** The part of the client that all requests go through. */
interface Modem {
  dial(
    request: { abortSignal?: AbortSignal },
    done: (error: unknown, answer?: unknown) => void,
  ): void;
}

const retryMinMs = 20;
const retryMaxMs = 500;
const visitMs = 1000;
const beatMs = 15_000;
/** A busy daemon answers at least one of so many. */
const beatsMissed = 3;
/** Codes of errors when the daemon is not there, or ends while it is asked. */
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

  /** The client itself, for requests with a time limit of their own. */
  client(): Promise<Dockerode> {
    this.#docker ??= load(this.#options.socket);
    return this.#docker;
  }

  /**
   * Opens a long stream, without a second attempt. It has to begin in time, and ends with `signal` and
   * with `close`.
   */
  begin<T>(question: (docker: Dockerode) => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.ask(question, { signal, once: true });
  }

  /**
   * Asks regularly whether the daemon answers, until `over` is aborted, and aborts `over` when it does
   * not. A stream itself does not show a daemon that hangs or a dead connection.
   */
  async watchOver(over: AbortController): Promise<void> {
    const { signal } = over;
    const everyMs = Math.min(beatMs, this.#options.requestTimeoutMs);
    for (let missed = 0; missed < beatsMissed;) {
      await pause(everyMs, signal);
      if (signal.aborted) return;
      try {
        await this.ask((docker) => docker.ping(), { signal });
        missed = 0;
      } catch {
        missed++; // Refused or not answered is the same here.
      }
    }
    over.abort();
  }

  /**
   * Asks until there is an answer. A refusal of the daemon is thrown as it is. An answer that is a stream
   * ends with `asking.signal` and with `close`.
   */
  async ask<T>(question: (docker: Dockerode) => Promise<T>, asking: Asking = {}): Promise<T> {
    const { clock, requestTimeoutMs } = this.#options;
    const client = await this.client();
    const timeoutMs = asking.timeoutMs ?? requestTimeoutMs;
    const over = new AbortController();
    const cancel = whenLate(clock, timeoutMs, () => over.abort());
    const signal = AbortSignal.any([
      over.signal,
      this.#closed.signal,
      asking.signal ?? over.signal,
    ]);
    const docker = within(client, signal);
    const abort = abortOf(signal);
    try {
      for (let pauseMs = retryMinMs; ; pauseMs = Math.min(pauseMs * 2, retryMaxMs)) {
        try {
          signal.throwIfAborted();
          return await Promise.race([question(docker), abort]);
        } catch (error) {
          asking.signal?.throwIfAborted();
          if (signal.aborted) throw unreachable(error);
          if (!isAway(error)) throw error;
          if (asking.once) throw unreachable(error);
        }
        await pause(pauseMs, signal);
      }
    } finally {
      cancel();
    }
  }

  /** Whether it answers within this time. */
  async answers(withinMs: number): Promise<boolean> {
    try {
      await this.ask((docker) => docker.ping(), { timeoutMs: withinMs, once: true });
      return true;
    } catch {
      return false; // Refused, lost and not answered are the same here.
    }
  }

  /**
   * Whether the daemon takes no new connections. A daemon that ends stops taking them first; the
   * failures that it then reports on open connections are no answers.
   */
  async isEnding(): Promise<boolean> {
    return !(await accepts(addressOf(this.#options.socket), visitMs));
  }

  close(): void {
    this.#closed.abort();
  }
}

async function load(socket: string): Promise<Dockerode> {
  const { default: Client } = await import('dockerode');
  // All are given, because missing ones would come from the DOCKER_ variables of the environment.
  const none = { host: undefined, port: undefined, ca: undefined, cert: undefined, key: undefined };
  const address = addressOf(socket);
  const client =
    'path' in address
      ? new Client({ ...none, protocol: 'http', socketPath: address.path })
      : new Client({ protocol: 'http', ...address });
  // The settings of Node's own agent, which the client would use.
  const agent = new Connections({ keepAlive: true, scheduling: 'lifo', timeout: 5_000 });
  Object.assign(client.modem, { agent });
  return client;
}

/**
 * A request that is aborted after its answer has come, but before its end was read, emits an error on
 * its connection. Node no longer listens there by then, and without a listener the error would end the
 * process.
 */
class Connections extends Agent {
  /**
   * The client formats each request for its debug log, even when that is off, and its agent with it.
   * Without this it would format all connections, which takes tens of milliseconds a request.
   */
  [inspect.custom](): string {
    return 'Connections';
  }

  override createConnection(
    ...args: Parameters<Agent['createConnection']>
  ): Duplex | null | undefined {
    const connection = super.createConnection(...args);
    connection?.on('error', () => undefined);
    return connection;
  }
}

/** The same client, all of whose requests end with the signal. */
function within(docker: Dockerode, signal: AbortSignal): Dockerode {
  const modem = docker.modem as Modem;
  const dial: Modem['dial'] = (request, done) => {
    modem.dial({ ...request, abortSignal: request.abortSignal ?? signal }, (error, answer) => {
      // A stream that is aborted between two reads emits an error that nobody waits for.
      if (answer instanceof EventEmitter) answer.on('error', () => undefined);
      done(error, answer);
    });
  };
  const bound = Object.create(modem, { dial: { value: dial } }) as Modem;
  return Object.create(docker, { modem: { value: bound } }) as Dockerode;
}

function addressOf(socket: string): { path: string } | { host: string; port: number } {
  if (!/^(tcp|http):\/\//.test(socket)) return { path: socket.replace(/^unix:\/\//, '') };
  const { hostname, port } = new URL(socket.replace(/^tcp:/, 'http:'));
  return { host: hostname, port: Number(port || 2375) };
}

/**
 * A promise that rejects when aborted: the client itself waits for ever when a connection breaks within
 * an answer.
 */
function abortOf(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  // Between two races nobody handles the rejection.
  promise.catch(() => undefined);
  const abort = (): void => reject(new Error('Cannot wait for the daemon: aborted'));
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return promise;
}

/**
 * Resolves after `delayMs`, or at once when aborted. It keeps the process alive, because somebody
 * waits.
 */
export async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  await setTimeout(delayMs, undefined, { signal }).catch(() => undefined);
}

/** The HTTP status a daemon refused with; undefined for all else. */
export function statusOf(error: unknown): number | undefined {
  const status = (error as { statusCode?: unknown } | null)?.statusCode;
  return typeof status === 'number' ? status : undefined;
}

/** The daemon's message, without the text that the client adds. */
export function wordsOf(error: unknown): string {
  const said = (error as { json?: { message?: unknown } } | null)?.json?.message;
  if (typeof said === 'string') return said.trim();
  return error instanceof Error ? error.message.trim() : String(error);
}

/** Whether the daemon is not reached, rather than refusing. */
export function isAway(error: unknown): boolean {
  if (statusOf(error) !== undefined) return false;
  if (error instanceof ServiceError) return error.code === 'AGENT_UNREACHABLE';
  const { code, message } = error as NodeJS.ErrnoException;
  return awayCodes.has(code) || /socket hang up|aborted/.test(message);
}

/** Whether a stream failed because the daemon ended or its container is being removed. */
export function isBroken(error: unknown): boolean {
  if (error instanceof LogBroken) return true;
  const status = statusOf(error);
  if (status !== undefined) return status >= 500 || status === 409;
  const { code, name } = error as NodeJS.ErrnoException;
  return isAway(error) || name === 'AbortError' || code === 'ERR_STREAM_PREMATURE_CLOSE';
}

/** Waits for an answer. That something was done already (304) or is gone (404) is no error. */
export async function settled(answer: Promise<unknown>): Promise<void> {
  try {
    await answer;
  } catch (error) {
    const status = statusOf(error);
    // This 409 means that another removal is under way.
    if (status !== 304 && status !== 404 && !wordsOf(error).includes('already in progress'))
      throw error;
  }
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
