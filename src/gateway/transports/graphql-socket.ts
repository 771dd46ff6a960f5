/**
 * Owns one connection that speaks `graphql-transport-ws`: from the wait for `connection_init` to its end.
 *
 * 1. Nothing runs before `connection_ack`. What breaks the protocol closes the connection with the protocol's code.
 * 2. The next result of an operation is made only when the socket has taken all that was sent. A client that has
 *    more than `owedBytesMax` of other messages sent to it, and takes none, is cut off.
 * 3. A connection whose caller's session or token has ended is closed with 4401.
 * 4. An operation has no way to the answer's head: what sets cookies is refused.
 */
import type { Principal } from '../../auth/callers/principal.ts';
import type { Origin } from '../../auth/sign-in/sign-in.ts';
import type { GraphqlCall, Lanes } from '../../graphql/execution/lanes.ts';
import type { Clock } from '../../lib/clock.ts';
import { asServiceError, ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { StreamRoom } from '../../logs/viewers/stream-room.ts';
import * as protocol from '../../protocol/graphql-transport-ws.ts';
import { type CloseCode, closeCodes } from '../../protocol/graphql-transport-ws.ts';
import type { OpenWebSocket, WebSocketHandler } from '../transport.ts';
import { type GraphqlRequest, requestOf } from './graphql.ts';

/** What all connections share. */
export interface SocketHost {
  readonly clock: Pick<Clock, 'after'>;
  readonly logger: Logger;
  readonly room: StreamRoom;
  /** Streams that one person may hold. */
  readonly perPersonMax: number;
  /** How long `connection_init` is waited for. */
  readonly initMs: number;
  /** Operations of one connection at a time. */
  readonly operationsMax: number;
  lanes(): Promise<Lanes>;
  stillValid(principal: Principal): boolean;
  opened(socket: GraphqlSocket): void;
  closed(socket: GraphqlSocket): void;
  /** Counts a connection that we close, or cut off for what it does not read. */
  closing(code: CloseCode | 'cut'): void;
}

/** What is kept of the request that the connection began with. */
export interface Handshake {
  /** Whether the client offers the subprotocol. */
  speaks: boolean;
  origin: Origin;
  requestId: string;
  /** The caller, by the request and by what `connection_init` says; throws why there is none. */
  identify(payload: Readonly<Record<string, unknown>>): Identity;
  /** Called once when `connection_init` was dealt with, or the connection is gone. */
  settled(): void;
}

export interface Identity {
  principal: Principal;
  /** Whose streams the connection's are. */
  person: string;
}

type Phase =
  | { kind: 'new'; stopWaiting: () => void }
  | { kind: 'admitting' }
  | ({ kind: 'open' } & Identity)
  | { kind: 'over' };

interface Operation {
  readonly controller: AbortController;
  /** Whether it goes on until somebody ends it. */
  isSubscription: boolean;
}

const owedBytesMax = 64 * 1024;

export class GraphqlSocket implements WebSocketHandler {
  readonly #host: SocketHost;
  readonly #handshake: Handshake;
  readonly #operations = new Map<string, Operation>();
  #socket: OpenWebSocket | null = null;
  #phase: Phase = { kind: 'new', stopWaiting: () => undefined };
  #isDraining = false;
  /** Bytes of messages besides results since the socket had taken all. */
  #owedBytes = 0;
  /** Who waits until the socket has taken all. */
  #waiting: (() => void)[] = [];

  constructor(host: SocketHost, handshake: Handshake) {
    this.#host = host;
    this.#handshake = handshake;
  }

  /** How many operations are under way. */
  get size(): number {
    return this.#operations.size;
  }

  opened(socket: OpenWebSocket): void {
    this.#socket = socket;
    this.#host.opened(this);
    if (!this.#handshake.speaks) {
      this.#end(closeCodes.subprotocolNotAcceptable, `Speak ${protocol.graphqlTransportWs}.`);
      return;
    }
    const { clock, initMs } = this.#host;
    const tooLate = (): void => {
      this.#end(closeCodes.initialisationTimeout, 'Connection initialisation timeout');
    };
    this.#phase = { kind: 'new', stopWaiting: clock.after(initMs, tooLate) };
  }

  message(text: string | null): void {
    const message = text === null ? null : protocol.readMessage(text);
    switch (message?.type) {
      case undefined:
        this.#end(closeCodes.badRequest, 'Invalid message');
        return;
      case 'connection_init':
        this.#initialise(message.payload);
        return;
      case 'ping':
        this.#reply(protocol.pongMessage);
        return;
      case 'pong':
        return;
      case 'subscribe':
        this.#subscribe(message.id, message.payload);
        return;
      case 'complete':
        this.#complete(message.id);
        return;
    }
  }

  drained(): void {
    this.#owedBytes = 0;
    this.#wake();
  }

  closed(): void {
    const phase = this.#phase;
    this.#phase = { kind: 'over' };
    if (phase.kind === 'new') phase.stopWaiting();
    if (phase.kind === 'open') this.#host.room.release(phase.person);
    else this.#handshake.settled();
    for (const { controller } of this.#operations.values()) controller.abort();
    this.#operations.clear();
    this.#wake();
    this.#host.closed(this);
  }

  /** Closes the connection when its caller is nobody any more. */
  check(): void {
    if (this.#phase.kind !== 'open' || this.#host.stillValid(this.#phase.principal)) return;
    this.#end(closeCodes.unauthorized, 'The session or token ended.');
  }

  /** Ends subscriptions, and the connection once what else is under way is answered. */
  drain(): void {
    this.#isDraining = true;
    for (const [id, { isSubscription }] of this.#operations) {
      if (isSubscription) this.#complete(id);
    }
    this.#endIfDrained();
  }

  #initialise(payload: Readonly<Record<string, unknown>>): void {
    if (this.#phase.kind !== 'new') {
      this.#end(closeCodes.tooManyInitialisations, 'Too many initialisation requests');
      return;
    }
    this.#phase.stopWaiting();
    this.#phase = { kind: 'admitting' };
    try {
      void this.#admit(this.#handshake.identify(payload));
    } catch (error) {
      this.#end(closeCodes.forbidden, this.#shown(error).message);
    }
  }

  async #admit(identity: Identity): Promise<void> {
    const { room, perPersonMax } = this.#host;
    const isReserved = await this.#reserve(identity.person);
    if (this.#phase.kind !== 'admitting') {
      if (isReserved) room.release(identity.person);
      return;
    }
    if (!isReserved) {
      this.#end(closeCodes.tryAgainLater, `One person may hold ${perPersonMax} streams.`);
      return;
    }
    this.#phase = { kind: 'open', ...identity };
    this.#handshake.settled();
    this.#reply(protocol.ackMessage);
    this.#endIfDrained();
  }

  /** False, too, when nobody could be asked. */
  async #reserve(person: string): Promise<boolean> {
    try {
      return await this.#host.room.reserve(person);
    } catch (error) {
      this.#host.logger.error({ err: error }, 'graphql_socket_failed');
      return false;
    }
  }

  #subscribe(id: string, payload: Readonly<Record<string, unknown>>): void {
    if (this.#phase.kind !== 'open') {
      this.#end(closeCodes.unauthorized, 'Unauthorized');
      return;
    }
    // The client asks again where it connects next.
    if (this.#isDraining) return;
    if (this.#operations.has(id)) {
      this.#end(closeCodes.subscriberExists, `Subscriber for ${id} already exists`);
      return;
    }
    const identity = this.#phase;
    this.check();
    if (this.#phase !== identity) return;
    try {
      this.#begin(id, identity, requestOf(payload));
    } catch (error) {
      this.#end(closeCodes.badRequest, this.#shown(error).message);
    }
  }

  #begin(id: string, identity: Identity, request: GraphqlRequest): void {
    const { operationsMax } = this.#host;
    if (this.#operations.size >= operationsMax) {
      const detail = `A connection may have ${operationsMax} operations at a time.`;
      this.#reply(this.#failure(id, new ServiceError('TOO_MANY_STREAMS', detail)));
      return;
    }
    const operation: Operation = { controller: new AbortController(), isSubscription: false };
    this.#operations.set(id, operation);
    void this.#run(id, operation, identity, request);
  }

  /** Its end, asked for by the client or by us; the client is told nothing more of it. */
  #complete(id: string): void {
    this.#operations.get(id)?.controller.abort();
    this.#operations.delete(id);
    this.#wake();
    this.#endIfDrained();
  }

  async #run(
    id: string,
    operation: Operation,
    { principal, person }: Identity,
    request: GraphqlRequest,
  ): Promise<void> {
    const { room, perPersonMax } = this.#host;
    let last: string;
    try {
      if (!(await room.reserve(person))) {
        throw new ServiceError('TOO_MANY_STREAMS', `One person may hold ${perPersonMax} streams.`);
      }
      try {
        last = await this.#sendResults(id, operation, principal, request);
      } finally {
        room.release(person);
      }
    } catch (error) {
      last = this.#failure(id, error);
    }
    if (this.#operations.get(id) !== operation) return;
    this.#operations.delete(id);
    this.#reply(last);
    this.#endIfDrained();
  }

  /** Sends results as the socket takes them; what is left to say at the end. */
  async #sendResults(
    id: string,
    operation: Operation,
    principal: Principal,
    request: GraphqlRequest,
  ): Promise<string> {
    const { signal } = operation.controller;
    const lanes = await this.#host.lanes();
    const prepared = lanes.prepare(request.query, request.operationName);
    operation.isSubscription = prepared.kind === 'subscription';
    if (operation.isSubscription && this.#isDraining) this.#complete(id);
    const call = { ...request, prepared, principal, signal, origin: this.#handshake.origin };
    const results = lanes.results(asCall(call));
    while (await this.#hasRoom(signal)) {
      const { value: json, done } = await results.next();
      if (done === true || signal.aborted) break;
      const errors = refusalIn(json);
      if (errors !== null) {
        await results.return();
        return protocol.errorMessage(id, errors);
      }
      this.#socket?.send(protocol.nextMessage(id, json));
    }
    await results.return();
    return protocol.completeMessage(id);
  }

  /** Resolves when the socket has taken all; false when nobody waits for results any more. */
  async #hasRoom(signal: AbortSignal): Promise<boolean> {
    while (this.#socket?.isFull === true && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    return !signal.aborted;
  }

  #wake(): void {
    for (const go of this.#waiting.splice(0)) go();
  }

  /** Sends what is not a result, and so does not wait for its turn. */
  #reply(text: string): void {
    this.#socket?.send(text);
    this.#owedBytes = this.#socket?.isFull === true ? this.#owedBytes + text.length : 0;
    if (this.#owedBytes <= owedBytesMax) return;
    this.#host.closing('cut');
    this.#socket?.cut();
  }

  #end(code: CloseCode, reason: string): void {
    if (this.#phase.kind === 'over') return;
    this.#host.closing(code);
    this.#socket?.end(code, protocol.closeReason(reason));
  }

  #endIfDrained(): void {
    if (!this.#isDraining || this.#operations.size > 0) return;
    this.#end(closeCodes.goingAway, 'The service is shutting down.');
  }

  #failure(id: string, thrown: unknown): string {
    const { code, message, extensions } = this.#shown(thrown);
    const { requestId } = this.#handshake;
    return protocol.errorMessage(id, [{ message, extensions: { ...extensions, code, requestId } }]);
  }

  #shown(thrown: unknown): ServiceError {
    const error = asServiceError(thrown);
    if (error.code === 'INTERNAL') {
      const { requestId } = this.#handshake;
      this.#host.logger.error({ err: thrown, requestId }, 'graphql_socket_failed');
    }
    return error;
  }
}

function asCall(call: Omit<GraphqlCall, 'via' | 'http' | 'request'>): GraphqlCall {
  return { ...call, via: 'http', http: null, request: null };
}

/** The errors of what was refused before it ran, or ended with an error; null for a result. */
function refusalIn(json: string): unknown {
  if (!json.startsWith('{"errors":')) return null;
  const answer = JSON.parse(json) as { errors: unknown; data?: unknown };
  return answer.data === undefined ? answer.errors : null;
}
