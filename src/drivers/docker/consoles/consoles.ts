/**
 * Owns what runs in a container beside its own program: terminals and single commands.
 *
 * 1. A terminal or command is ended with everything it started when it is closed, when its time is over, or
 *    when the connection to the daemon is lost. A mark in the environment finds the processes.
 * 2. After a kill of this process, the next one ends what was left open.
 * 3. While a terminal is paused the daemon is not read, and the program waits.
 */
import { randomBytes } from 'node:crypto';
import { Duplex } from 'node:stream';

import { sessionVariable } from '../../../lib/processes/processes.ts';
import type { Clock } from '../../../lib/clock.ts';
import { ServiceError } from '../../../lib/errors.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Pipe, Terminal, TerminalEvents } from '../../driver.ts';
import type { ExecOutcome, ExecSpec, PipeSpec, TerminalSpec } from '../../../protocol/workload.ts';
import { type Engine, orGone, statusOf, wordsOf } from '../engine/engine.ts';
import { FrameReader } from '../logs/stream-frames.ts';
import { ExecPipe } from './exec-pipe.ts';
import { Execs } from './execs.ts';
import { PtyStream, type PtyStreamParts } from './pty-stream.ts';
import type { OpenExecs } from './open-execs.ts';
import type { DaemonWorkloads, Seen } from '../workloads/daemon-workloads.ts';
import type { ContainerView } from '../workloads/states.ts';

export interface ConsolesParts {
  engine: Engine;
  workloads: Pick<DaemonWorkloads<Seen>, 'see'>;
  sessions: OpenExecs;
  logger: Logger;
  clock: Clock;
}

interface Started {
  /** The exec's id at the daemon. */
  id: string;
  socket: Duplex;
  /** Ends the exec with everything it started; resolves when the processes are gone. */
  end: () => Promise<void>;
}

/**
 * Docker's detach keys (by default ctrl-p ctrl-q) leave a terminal open and take these keys away from the
 * program. They cannot be switched off, so they are set to a sequence that nobody types. Its first key is
 * rarely used, because the daemon holds that key back for a moment.
 */
const detachKeys = 'ctrl-^,g,a,n,g,w,a,y,n,e,v,e,r,l,e,a,v,e,s';
const timeoutCode = 124;
const killedCode = 137;
/** Works in an image with either shell; the shell replaces this one. */
const anyShell = ['/bin/sh', '-c', 'if [ -x /bin/bash ]; then exec /bin/bash; fi; exec /bin/sh'];
/**
 * Puts both outputs on one pipe, because only one pipe keeps their order. The command is passed as
 * arguments, so the shell never parses it.
 */
const inOrder = ['/bin/sh', '-c', 'exec "$0" "$@" 2>&1'];

export class Consoles {
  readonly #parts: ConsolesParts;
  readonly #execs: Execs;
  readonly #open = new Set<() => Promise<void>>();

  constructor(parts: ConsolesParts) {
    this.#parts = parts;
    this.#execs = new Execs(parts);
  }

  async openTerminal(id: string, spec: TerminalSpec, events: TerminalEvents): Promise<Terminal> {
    const view = await this.#running(id);
    const command = spec.command.length > 0 ? spec.command : anyShell;
    const env = { TERM: 'xterm-256color', ...spec.env };
    const started = await this.#start(view, command, env, {
      size: { cols: spec.cols, rows: spec.rows },
    });
    return this.#terminal({
      socket: started.socket,
      events,
      resize: (cols, rows) => this.#resize(started.id, cols, rows),
      end: started.end,
      exit: () => this.#execs.exitOf(started.id),
      logger: this.#parts.logger,
    });
  }

  async attach(
    id: string,
    size: { cols: number; rows: number },
    events: TerminalEvents,
  ): Promise<Terminal> {
    const { engine, logger } = this.#parts;
    const view = await this.#running(id);
    if (!view.Config.OpenStdin || !view.Config.Tty) {
      throw new ServiceError('BAD_USER_INPUT', 'Its program takes no input: open a shell instead.');
    }
    const streams = { stream: true, hijack: true, stdin: true, stdout: true, stderr: true };
    const socket: unknown = await engine.begin(
      (docker) => docker.getContainer(view.Id).attach({ ...streams, detachKeys }),
      engine.closed,
    );
    if (!(socket instanceof Duplex)) throw new Error('Cannot attach: no connection came of it');
    const terminal = this.#terminal({
      socket,
      events,
      resize: async (cols, rows) => {
        const newSize = { h: rows, w: cols };
        await engine.ask((docker) => docker.getContainer(view.Id).resize(newSize), { once: true });
      },
      // The program belongs to the workload and continues.
      end: () => Promise.resolve(),
      exit: () => this.#endOfProgram(id),
      logger,
    });
    terminal.resize(size.cols, size.rows);
    return terminal;
  }

  /** Ends what is open, as when its connection is lost. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#open].map((end) => end()));
  }

  async endLeft(): Promise<void> {
    const { sessions, engine, logger } = this.#parts;
    for (const session of sessions.left()) {
      try {
        const view = await engine.ask((docker) =>
          orGone(docker.getContainer(session.container).inspect()),
        );
        if (view?.State.Running === true) await this.#execs.endMarked(session, view.State.Pid);
        sessions.forget(session.mark);
      } catch (error) {
        logger.debug({ err: error }, 'session_not_ended');
      }
    }
  }

  #terminal(parts: PtyStreamParts): PtyStream {
    const end = (): Promise<void> => terminal.lose();
    const terminal = new PtyStream({
      ...parts,
      events: {
        output: (bytes) => parts.events.output(bytes),
        exit: (exit) => {
          this.#open.delete(end);
          parts.events.exit(exit);
        },
      },
    });
    this.#open.add(end);
    return terminal;
  }

  async #endOfProgram(id: string): Promise<{ code: number | null; lost: boolean }> {
    try {
      const state = (await this.#parts.workloads.see(id))?.workload.state;
      return { code: state?.phase === 'ended' ? state.exit.code : null, lost: false };
    } catch {
      return { code: null, lost: true }; // The daemon went away, not the program.
    }
  }

  async exec(id: string, spec: ExecSpec, signal: AbortSignal): Promise<ExecOutcome> {
    signal.throwIfAborted();
    const view = await this.#running(id);
    const command = (await this.#hasShell(view)) ? [...inOrder, ...spec.command] : spec.command;
    const started = await this.#start(view, command, spec.env);
    const { socket, end } = started;
    const output: Buffer[] = [];
    let room = spec.maxBytes;
    let truncated = false;
    const timeUp = new AbortController();
    const cancel = this.#parts.clock.after(spec.timeoutMs, () => timeUp.abort());
    const gone = new AbortController();
    const endNow = async (): Promise<void> => {
      await end();
      gone.abort();
    };
    this.#open.add(endNow);
    const cut = AbortSignal.any([signal, timeUp.signal, gone.signal]);
    const frames = new FrameReader();
    socket.on('data', (chunk: Buffer) => {
      for (const { bytes } of frames.push(chunk)) {
        if (bytes.length > room) truncated = true;
        if (room > 0) output.push(Buffer.from(bytes.subarray(0, room)));
        room -= Math.min(room, bytes.length);
      }
    });
    try {
      await closed(socket, cut);
      if (cut.aborted) await end();
      signal.throwIfAborted();
      const exitCode = timeUp.signal.aborted ? timeoutCode : await this.#codeOf(started);
      return { output: Buffer.concat(output), exitCode, truncated };
    } finally {
      cancel();
      this.#open.delete(endNow);
      socket.destroy();
    }
  }

  async pipe(
    id: string,
    { command, env }: PipeSpec,
    input: AsyncIterable<Uint8Array> | null,
    signal: AbortSignal,
  ): Promise<Pipe> {
    signal.throwIfAborted();
    const view = await this.#running(id);
    const started = await this.#start(view, command, env, { hasInput: input !== null });
    const { socket, end } = started;
    const endNow = (): Promise<void> => {
      pipe.fail(new ServiceError('AGENT_UNREACHABLE', 'The service is closing.'));
      return end();
    };
    const exitCode = (): Promise<number> => this.#codeOf(started);
    const over = (): unknown => this.#open.delete(endNow);
    this.#open.add(endNow);
    const pipe = new ExecPipe({ socket, input, signal, end, exitCode, over });
    return pipe;
  }

  async #codeOf({ id }: Started): Promise<number> {
    const { code, lost } = await this.#execs.exitOf(id);
    if (lost) throw new ServiceError('AGENT_UNREACHABLE', 'The Docker daemon went meanwhile.');
    // Without a code the container ended, and the command with it.
    return code ?? killedCode;
  }

  async #running(id: string): Promise<ContainerView> {
    const [view] = (await this.#parts.workloads.see(id))?.running ?? [];
    if (!view) throw new ServiceError('NOT_RUNNING', 'It does not run.');
    return view;
  }

  async #hasShell(view: ContainerView): Promise<boolean> {
    const found = await this.#parts.engine.ask((docker) => {
      const answer: unknown = docker.getContainer(view.Id).infoArchive({ path: '/bin/sh' });
      return orGone(answer as Promise<NodeJS.ReadableStream>);
    });
    // The request holds its connection until it is read, though it has no content.
    found?.resume();
    return found !== undefined;
  }

  async #start(
    view: ContainerView,
    command: readonly string[],
    env: Readonly<Record<string, string>>,
    streams: { size?: { cols: number; rows: number }; hasInput?: boolean } = {},
  ): Promise<Started> {
    const { engine, sessions } = this.#parts;
    const session = { mark: randomBytes(12).toString('hex'), container: view.Id };
    const marked = { ...env, [sessionVariable]: session.mark };
    sessions.add(session);
    const { size, hasInput = size !== undefined } = streams;
    const tty = size !== undefined;
    try {
      const { id } = await engine.ask((docker) =>
        docker.getContainer(view.Id).exec({
          AttachStdin: hasInput,
          AttachStdout: true,
          AttachStderr: true,
          Tty: tty,
          ...(tty && { DetachKeys: detachKeys }),
          Env: Object.entries(marked).map(([name, value]) => `${name}=${value}`),
          Cmd: [...command],
        }),
      );
      const socket = await engine.begin(
        (docker) =>
          docker.getExec(id).start({
            hijack: true,
            stdin: hasInput,
            Tty: tty,
            // Newer daemons set this size. For older ones the size is set once the program runs.
            ...(size && { ConsoleSize: [size.rows, size.cols] }),
          }),
        engine.closed,
      );
      const pid = view.State.Pid;
      const end = async (): Promise<void> => {
        await this.#execs.begun(id);
        await this.#execs.endMarked(session, pid);
      };
      socket.once('close', () => sessions.forget(session.mark));
      if (size) await this.#firstSize(id, size, { socket, end });
      return { id, socket, end };
    } catch (error) {
      sessions.forget(session.mark);
      throw asNotRunning(error);
    }
  }

  /** A terminal can be sized only once its program runs. Ends the program when this fails. */
  async #firstSize(
    id: string,
    size: { cols: number; rows: number },
    { socket, end }: Omit<Started, 'id'>,
  ): Promise<void> {
    try {
      await this.#execs.await(() => this.#sized(id, size));
    } catch (error) {
      await end();
      socket.destroy();
      throw error;
    }
  }

  /** Resolves also when the program has ended already. */
  async #sized(id: string, size: { cols: number; rows: number }): Promise<unknown> {
    try {
      await this.#resize(id, size.cols, size.rows);
      return true;
    } catch (error) {
      if (statusOf(error) === undefined) throw error;
      return this.#execs.codeNow(id);
    }
  }

  /** This is tried once: a daemon that goes away loses the terminal anyway. */
  async #resize(id: string, cols: number, rows: number): Promise<void> {
    const size = { h: rows, w: cols };
    await this.#parts.engine.ask((docker) => docker.getExec(id).resize(size), { once: true });
  }
}

function asNotRunning(error: unknown): unknown {
  const status = statusOf(error);
  const isRefused = status === 409 || status === 404;
  if (!isRefused && !/is not running|is paused/.test(wordsOf(error))) return error;
  return new ServiceError('NOT_RUNNING', 'It does not run.', { cause: error });
}

/** Resolves when the socket is closed, or `cut` aborts. */
function closed(socket: Duplex, cut: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => resolve();
    for (const event of ['end', 'close', 'error']) socket.once(event, done);
    cut.addEventListener('abort', done, { once: true });
    if (cut.aborted) done();
  });
}
