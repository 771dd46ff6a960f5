/**
 * Owns the connections to a runner: reads requests, answers each once, passes events on.
 *
 * 1. What a peer sends is checked; nonsense costs it its connection, never the runner.
 * 2. A peer that does not read has at most `unreadMaxBytes` waiting for it, then it is cut off: it
 *    comes back and asks for what it missed.
 */
import { once } from 'node:events';
import net from 'node:net';

import type { RequestFrame, RunnerFrame, RunnerRequest } from '../../protocol/runner-messages.ts';
import type { IsolationLayer } from '../../protocol/isolation.ts';
import { asServiceError, ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { encodeFrame, FrameDecoder } from '../../protocol/message-frames.ts';
import { runnerProtocol } from '../../protocol/runner-version.ts';
import type { EdgeKeeper } from './edge/edge-keeper.ts';
import type { Output } from './output.ts';
import { servePipe } from './pipe-connection.ts';
import type { Runner } from './runner.ts';

export interface RunnerServerOptions {
  runner: Runner;
  edge: Pick<EdgeKeeper, 'configure' | 'setRoutes' | 'setCertificates' | 'traffic' | 'accessLogs'>;
  logger: Logger;
  /** Layers of isolation that this runner was told to leave out. */
  without: readonly IsolationLayer[];
  /** The peer wants this runner gone. */
  handover: () => void;
}

const unreadMaxBytes = 32 * 1024 * 1024;
const readMaxBytes = 1024 * 1024;

export class RunnerServer {
  readonly #options: RunnerServerOptions;
  readonly #server = net.createServer((socket) => this.#accept(socket));
  readonly #connections = new Set<net.Socket>();

  constructor(options: RunnerServerOptions) {
    this.#options = options;
  }

  get connectionCount(): number {
    return this.#connections.size;
  }

  async listen(socketPath: string): Promise<void> {
    this.#server.listen(socketPath);
    await once(this.#server, 'listening');
    this.#server.on('error', (error) =>
      this.#options.logger.error({ err: error }, 'runner_socket_failed'),
    );
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#connections) socket.destroy();
  }

  #accept(socket: net.Socket): void {
    this.#connections.add(socket);
    const connection = new Connection(socket, this.#options);
    socket.once('close', () => {
      this.#connections.delete(socket);
      connection.ended();
    });
  }
}

type PipeRequest = Extract<RequestFrame, { op: 'pipe' }>;
/** What is answered once. */
type Asked = Exclude<RequestFrame, TerminalTold | PipeRequest>;

type Handlers = {
  [Op in Asked['op']]: (frame: Extract<RequestFrame, { op: Op }>) => unknown;
};

class Connection {
  readonly #socket: net.Socket;
  readonly #options: RunnerServerOptions;
  readonly #decoder = new FrameDecoder();
  /** Requests that may be given up, by their numbers. */
  readonly #waiting = new Map<number, AbortController>();
  readonly #terminals: ConnectionTerminals;
  readonly #handlers: Handlers;
  readonly #unwatch: () => void;

  constructor(socket: net.Socket, options: RunnerServerOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#handlers = this.#handlersOf(options);
    this.#terminals = new ConnectionTerminals(options.runner, (frame) => this.#send(frame));
    this.#unwatch = options.runner.watch((workload) => this.#send({ event: 'state', workload }));
    socket.on('error', (error) => options.logger.debug({ err: error }, 'runner_connection_failed'));
    socket.on('data', (chunk) => this.#receive(chunk));
  }

  ended(): void {
    this.#unwatch();
    this.#terminals.end();
    for (const waiting of this.#waiting.values()) waiting.abort();
  }

  #receive(chunk: Buffer): void {
    let frames: unknown[];
    try {
      frames = this.#decoder.push(chunk);
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'runner_request_unreadable');
      this.#socket.destroy();
      return;
    }
    for (const frame of frames) {
      if (!isRequest(frame)) {
        this.#options.logger.warn({}, 'runner_request_unknown');
        this.#socket.destroy();
        return;
      }
      if (frame.op === 'pipe') {
        this.#servePipe(frame);
        return;
      }
      if (isTerminalTold(frame)) this.#terminals.hear(frame);
      else void this.#answer(frame);
    }
  }

  /** From now on the connection carries the pipe alone. */
  #servePipe(frame: PipeRequest): void {
    this.#unwatch();
    this.#socket.removeAllListeners('data');
    void servePipe(this.#socket, frame, this.#options);
  }

  async #answer(frame: Asked): Promise<void> {
    try {
      this.#send({ re: frame.n, ok: (await this.#perform(frame)) ?? null });
    } catch (error) {
      if (!(error instanceof ServiceError)) {
        this.#options.logger.error({ err: error, op: frame.op }, 'runner_request_failed');
      }
      this.#send({ re: frame.n, error: asServiceError(error).toPlain() });
    }
  }

  /** Undefined for a request that this runner does not know. */
  #perform(frame: Asked): unknown {
    const handler = this.#handlers[frame.op] as ((frame: RequestFrame) => unknown) | undefined;
    return handler?.(frame);
  }

  #handlersOf({ runner, edge, without, handover }: RunnerServerOptions): Handlers {
    return {
      hello: () => ({
        protocol: runnerProtocol,
        pid: process.pid,
        without,
        tls: true,
        panel: true,
      }),
      handover,
      configure: (frame) => edge.configure(frame.edge),
      start: ({ spec }) => runner.start(spec),
      inspect: ({ workload }) => runner.inspect(workload),
      list: () => runner.list(),
      stop: ({ workload }) => runner.stop(workload),
      remove: ({ workload }) => runner.remove(workload),
      read: (frame) => this.#read(frame),
      cancel: ({ request }) => this.#waiting.get(request)?.abort(),
      acknowledge: ({ workload, seq }) => this.#output(workload)?.acknowledge(seq),
      probe: ({ workload }) => runner.probe(workload),
      listeners: ({ workload }) => runner.listeners(workload),
      usages: ({ workloads }) => runner.usages(workloads),
      isolation: () => runner.isolation,
      traffic: () => edge.traffic.all(),
      'forget-traffic': ({ app }) => {
        edge.traffic.forget(app);
        edge.accessLogs.forget(app);
      },
      'free-port': () => runner.freePort(),
      'let-port': ({ owner }) => runner.letPort(owner),
      'set-routes': ({ routes }) => edge.setRoutes(routes),
      'set-certificates': ({ certificates }) => edge.setCertificates(certificates),
      'terminal-open': (frame) => this.#terminals.open(frame),
      exec: (frame) =>
        this.#until(frame, (signal) => runner.exec(frame.workload, frame.spec, signal)),
    };
  }

  #read(frame: RequestFrame & { op: 'read' }): Promise<unknown> {
    const output = this.#output(frame.workload);
    if (!output) throw new ServiceError('NOT_FOUND', 'There is no workload of this id.');
    const maxBytes = Math.min(frame.maxBytes, readMaxBytes);
    return this.#until(frame, (signal) => output.read(frame.afterSeq, maxBytes, signal));
  }

  #output(id: string): Output | undefined {
    const { runner, edge } = this.#options;
    return edge.accessLogs.output(id) ?? runner.output(id);
  }

  /** Gives the work up when it is canceled by its number, or the peer is gone. */
  async #until<T>({ n }: RequestFrame, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const cancel = new AbortController();
    this.#waiting.set(n, cancel);
    try {
      return await work(cancel.signal);
    } finally {
      this.#waiting.delete(n);
    }
  }

  #send(frame: RunnerFrame): void {
    if (this.#socket.destroyed) return;
    this.#socket.write(encodeFrame(frame));
    if (this.#socket.writableLength > unreadMaxBytes) this.#socket.destroy();
  }
}

function isRequest(frame: unknown): frame is RequestFrame {
  return (
    typeof frame === 'object' &&
    frame !== null &&
    'n' in frame &&
    typeof frame.n === 'number' &&
    'op' in frame &&
    typeof frame.op === 'string'
  );
}

type OpenRequest = Extract<RunnerRequest, { op: 'terminal-open' }>;
/** What is told without an answer. */
type TerminalTold = Exclude<Extract<RunnerRequest, { op: `terminal-${string}` }>, OpenRequest>;

function isTerminalTold(request: RunnerRequest): request is TerminalTold {
  return request.op.startsWith('terminal-') && request.op !== 'terminal-open';
}

/** The terminals of one connection, by the numbers its client gave them. They end with the connection. */
class ConnectionTerminals {
  readonly #runner: Runner;
  readonly #send: (frame: RunnerFrame) => void;
  /** The runner's numbers by the client's. */
  readonly #open = new Map<number, number>();
  #ended = false;

  constructor(runner: Runner, send: (frame: RunnerFrame) => void) {
    this.#runner = runner;
    this.#send = send;
  }

  async open({ workload, terminal, spec }: OpenRequest): Promise<null> {
    if (this.#open.has(terminal)) {
      throw new ServiceError('CONFLICT', 'There is a terminal of this number.');
    }
    const { terminals } = this.#runner;
    const id = await terminals.open(this.#runner.groundOf(workload), spec, {
      output: (bytes) => this.#send({ event: 'terminal-output', terminal, bytes }),
      written: (count) => this.#send({ event: 'terminal-written', terminal, count }),
      exit: (exit) => {
        this.#open.delete(terminal);
        this.#send({ event: 'terminal-exit', terminal, ...exit });
      },
    });
    if (this.#ended) terminals.close(id);
    // It may have ended at once.
    else if (terminals.has(id)) this.#open.set(terminal, id);
    return null;
  }

  hear(request: TerminalTold): void {
    const id = this.#open.get(request.terminal);
    if (id === undefined) return; // It ended meanwhile.
    const { terminals } = this.#runner;
    switch (request.op) {
      case 'terminal-write':
        terminals.tell({ op: 'write', id, bytes: request.bytes });
        return;
      case 'terminal-resize':
        terminals.tell({ op: 'resize', id, cols: request.cols, rows: request.rows });
        return;
      case 'terminal-taken':
        terminals.tell({ op: 'taken', id, count: request.count });
        return;
      case 'terminal-close':
        terminals.close(id);
    }
  }

  end(): void {
    this.#ended = true;
    for (const id of [...this.#open.values()]) this.#runner.terminals.close(id);
  }
}
