/**
 * Owns calls between two threads over one MessagePort, in both directions: questions, which have one
 * answer, and messages without one.
 *
 * 1. What a side sends arrives in the same order. What it sends within one turn of the loop goes as one
 *    message, since the cost of a message hardly depends on its size.
 * 2. A ServiceError arrives as the same ServiceError. Any other failure is logged on the side where it
 *    happened, and arrives as an Error that says nothing of it.
 * 3. When the port closes, for whatever reason, open questions are rejected with SHUTTING_DOWN and running
 *    handlers are aborted: nothing waits for a thread that is gone.
 * 4. At most `underWayMax` questions of a side are under way; more are OVERLOADED. A question that was
 *    given up counts until the other side is done with it.
 *
 * Handlers are registered in the turn that opens the calls. The types of what crosses are those of the
 * doors (`remote-door.ts`): here all of it is unknown, and fit for structured cloning.
 */
import type { MessagePort } from 'node:worker_threads';
import { type PlainServiceError, ServiceError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';

/** `signal` aborts when nobody waits for the answer any more. */
export type PortHandler = (input: unknown, signal: AbortSignal) => unknown;

export interface PortCallsOptions {
  logger: Logger;
  /** Default 100,000. */
  underWayMax?: number;
}

const asked = 0;
const answered = 1;
const failed = 2;
const told = 3;
const givenUp = 4;

type Message =
  | [typeof asked, id: number, name: string, input: unknown]
  | [typeof answered, id: number, output: unknown]
  /** Null: an unexpected failure, whose cause stays on its side. */
  | [typeof failed, id: number, error: PlainServiceError | null]
  | [typeof told, name: string, input: unknown]
  | [typeof givenUp, id: number];

interface Question {
  name: string;
  resolve: (output: unknown) => void;
  reject: (error: unknown) => void;
  /** Lets go of the asker's signal. */
  release: () => void;
}

export class PortCalls {
  readonly #port: MessagePort;
  readonly #logger: Logger;
  readonly #underWayMax: number;
  readonly #handlers = new Map<string, PortHandler>();
  readonly #questions = new Map<number, Question>();
  /** Of questions whose handlers are at work here. */
  readonly #answering = new Map<number, AbortController>();
  readonly #closeCallbacks: (() => void)[] = [];
  #waiting: Message[] = [];
  #lastId = 0;
  #closed = false;
  readonly #flush = (): void => {
    const messages = this.#waiting;
    if (messages.length === 0) return;
    this.#waiting = [];
    try {
      this.#port.postMessage(messages);
    } catch {
      // One message cannot be cloned, so none was sent. Sending each alone finds it.
      for (const message of messages) this.#sendAlone(message);
    }
  };

  constructor(port: MessagePort, options: PortCallsOptions) {
    this.#port = port;
    this.#logger = options.logger;
    this.#underWayMax = options.underWayMax ?? 100_000;
    port.on('message', (messages: Message[]) => {
      for (const message of messages) this.#receive(message);
    });
    port.on('messageerror', (error) =>
      this.#logger.error({ err: error }, 'port_message_unreadable'),
    );
    port.once('close', () => this.#ended());
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Questions of this side that are not answered. */
  get underWay(): number {
    return this.#questions.size;
  }

  /**
   * Rejects with what the handler threw, OVERLOADED or SHUTTING_DOWN. `signal` gives the question up:
   * `ask` rejects with its reason, and the handler's own signal aborts.
   */
  ask(name: string, input: unknown, signal?: AbortSignal | null): Promise<unknown> {
    if (this.#closed) return Promise.reject(shuttingDown());
    if (this.#questions.size >= this.#underWayMax) {
      return Promise.reject(new ServiceError('OVERLOADED', 'Too much is under way; retry.'));
    }
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    const id = (this.#lastId += 1);
    return new Promise((resolve, reject) => {
      const question: Question = { name, resolve, reject, release: noop };
      this.#questions.set(id, question);
      if (signal) this.#giveUpWith(signal, id, question);
      this.#send([asked, id, name, input]);
    });
  }

  /** As `ask`, without an answer: what the handler throws is logged there. */
  tell(name: string, input: unknown): void {
    this.#send([told, name, input]);
  }

  handle(name: string, handler: PortHandler): void {
    if (this.#handlers.has(name)) throw new Error(`Cannot handle ${name}: it is handled`);
    this.#handlers.set(name, handler);
  }

  /** Calls back once when the port has closed. */
  onClose(callback: () => void): void {
    this.#closeCallbacks.push(callback);
  }

  /** Sends what is waiting to be sent, then closes the port for both sides. Twice is fine. */
  close(): void {
    if (this.#closed) return;
    this.#flush();
    this.#port.close();
    this.#ended();
  }

  #send(message: Message): void {
    if (this.#closed) return;
    if (this.#waiting.push(message) === 1) setImmediate(this.#flush);
  }

  #sendAlone(message: Message): void {
    try {
      this.#port.postMessage([message]);
    } catch (error) {
      if (message[0] === asked) {
        const [, id, name] = message;
        this.#take(id)?.reject(new Error(`Cannot ask ${name}: it cannot cross`, { cause: error }));
        return;
      }
      this.#logger.error({ err: error }, 'port_message_uncloneable');
      // Of a ServiceError only the extensions can be at fault.
      if (message[0] === answered || message[0] === failed) this.#send([failed, message[1], null]);
    }
  }

  #giveUpWith(signal: AbortSignal, id: number, question: Question): void {
    const giveUp = (): void => {
      question.release();
      question.reject(signal.reason);
      this.#send([givenUp, id]);
    };
    signal.addEventListener('abort', giveUp);
    question.release = () => signal.removeEventListener('abort', giveUp);
  }

  #receive(message: Message): void {
    switch (message[0]) {
      case asked:
        this.#answer(message[1], message[2], message[3]);
        return;
      case answered:
        this.#take(message[1])?.resolve(message[2]);
        return;
      case failed: {
        const [, id, plain] = message;
        const question = this.#take(id);
        question?.reject(
          plain === null
            ? new Error(`Cannot answer ${question.name}: it failed on the other thread`)
            : ServiceError.fromPlain(plain),
        );
        return;
      }
      case told:
        this.#heard(message[1], message[2]);
        return;
      case givenUp:
        this.#answering.get(message[1])?.abort();
        return;
    }
  }

  #take(id: number): Question | undefined {
    const question = this.#questions.get(id);
    this.#questions.delete(id);
    question?.release();
    return question;
  }

  #answer(id: number, name: string, input: unknown): void {
    const controller = new AbortController();
    const fail = (thrown: unknown): void => {
      this.#answering.delete(id);
      this.#send([failed, id, this.#plainOf(name, thrown)]);
    };
    try {
      const output = this.#handlerOf(name)(input, controller.signal);
      if (!(output instanceof Promise)) {
        this.#send([answered, id, output]);
        return;
      }
      this.#answering.set(id, controller);
      output.then((settled: unknown) => {
        this.#answering.delete(id);
        this.#send([answered, id, settled]);
      }, fail);
    } catch (error) {
      fail(error);
    }
  }

  #heard(name: string, input: unknown): void {
    const fail = (error: unknown): void =>
      this.#logger.warn({ call: name, err: error }, 'port_tell_failed');
    try {
      const output = this.#handlerOf(name)(input, neverAborted);
      if (output instanceof Promise) output.catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  #handlerOf(name: string): PortHandler {
    const handler = this.#handlers.get(name);
    if (handler === undefined) throw new Error(`Cannot answer ${name}: nobody handles it`);
    return handler;
  }

  #plainOf(name: string, thrown: unknown): PlainServiceError | null {
    if (thrown instanceof ServiceError) return thrown.toPlain();
    this.#logger.error({ call: name, err: thrown }, 'port_call_failed');
    return null;
  }

  #ended(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#waiting = [];
    for (const id of [...this.#questions.keys()]) this.#take(id)?.reject(shuttingDown());
    for (const controller of this.#answering.values()) controller.abort();
    this.#answering.clear();
    for (const callback of this.#closeCallbacks.splice(0)) this.#guarded(callback);
  }

  #guarded(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.#logger.error({ err: error }, 'port_close_callback_failed');
    }
  }
}

// Nobody waits for the answer to a message.
const neverAborted = new AbortController().signal;

function noop(): void {
  // Most questions have no signal.
}

function shuttingDown(): ServiceError {
  return new ServiceError('SHUTTING_DOWN', 'The service is stopping.');
}
