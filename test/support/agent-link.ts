/** Owns a link to an agent within this process: what crosses is copied as plain data, and it can be cut. */
import { type Duplex, duplexPair } from 'node:stream';

import { asServiceError, ServiceError } from '../../src/lib/errors.ts';
import type {
  AgentLink,
  AgentLinkEvent,
  AgentServices,
  CallOptions,
} from '../../src/protocol/agent-link.ts';
import { foreignError } from '../../src/protocol/foreign-error.ts';
import { encodeFrame, FrameDecoder } from '../../src/protocol/message-frames.ts';

export interface JoinedLink extends AgentLink {
  /** Everything under way fails, and so does what is asked from now on. */
  cut(): void;
  restore(): void;
  /** As the agent. */
  tell(name: string, message: unknown): void;
}

/** It is connected from the start. */
export function joinedLink(serverId: string, services: AgentServices): JoinedLink {
  return new Joined(serverId, services);
}

class Joined implements JoinedLink {
  readonly serverId: string;
  readonly #services: AgentServices;
  readonly #listeners = new Set<(event: AgentLinkEvent) => void>();
  /** Aborts when the link is cut; undefined while it is. */
  #up: AbortController | undefined = new AbortController();

  constructor(serverId: string, services: AgentServices) {
    this.serverId = serverId;
    this.#services = services;
  }

  get isConnected(): boolean {
    return this.#up !== undefined;
  }

  async call(name: string, message: unknown, { signal }: CallOptions = {}): Promise<unknown> {
    const ended = this.#until(signal);
    const handler = Object.hasOwn(this.#services.calls, name) && this.#services.calls[name];
    if (handler === false || handler === undefined) throw unknown(name);
    const answer = handler(crossed(message), ended).then(crossed, (error: unknown) => {
      throw asForeign(error);
    });
    return Promise.race([answer, aborted(ended)]);
  }

  async stream(name: string, head: unknown, _lane: unknown, signal?: AbortSignal): Promise<Duplex> {
    const ended = this.#until(signal);
    const handler = Object.hasOwn(this.#services.streams, name) && this.#services.streams[name];
    if (handler === false || handler === undefined) throw unknown(name);
    const [near, far] = duplexPair();
    // Of nobody's who does not listen for it: the agent may be done with it.
    far.on('error', () => undefined);
    const breakBoth = (): void => {
      near.destroy(ended.reason as Error);
      far.destroy(ended.reason as Error);
    };
    ended.addEventListener('abort', breakBoth, { once: true });
    near.once('close', () => far.destroy());
    far.once('close', () => {
      if (!far.readableEnded || !far.writableFinished) near.destroy(away());
    });
    try {
      await handler(crossed(head), far);
      ended.throwIfAborted();
    } catch (error) {
      near.on('error', () => undefined);
      near.destroy();
      throw ended.aborted ? error : asForeign(error);
    }
    return near;
  }

  unlessHeard(onSilence: () => void): () => void {
    const timer = setTimeout(() => {
      if (this.#up === undefined) onSilence();
    }, 0);
    return () => clearTimeout(timer);
  }

  watch(listener: (event: AgentLinkEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  cut(): void {
    const up = this.#up;
    this.#up = undefined;
    up?.abort(away());
    this.#tellAll({ type: 'disconnected' });
  }

  restore(): void {
    this.#up ??= new AbortController();
    this.#tellAll({ type: 'connected' });
  }

  tell(name: string, message: unknown): void {
    this.#tellAll({ type: 'told', name, message: crossed(message) });
  }

  #tellAll(event: AgentLinkEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  #until(signal: AbortSignal | undefined): AbortSignal {
    if (this.#up === undefined) throw away();
    return signal ? AbortSignal.any([this.#up.signal, signal]) : this.#up.signal;
  }
}

function away(): ServiceError {
  return new ServiceError('AGENT_UNREACHABLE', 'The server is not connected.');
}

function unknown(name: string): ServiceError {
  return new ServiceError('NOT_FOUND', `The agent does not know ${name}.`);
}

function crossed(value: unknown): unknown {
  const [copy] = new FrameDecoder().push(encodeFrame(value ?? null));
  return copy;
}

function asForeign(error: unknown): ServiceError {
  return foreignError(asServiceError(error).toPlain());
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const fail = (): void => reject(signal.reason as Error);
    if (signal.aborted) fail();
    signal.addEventListener('abort', fail, { once: true });
  });
}
