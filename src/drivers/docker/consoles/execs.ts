/**
 * Owns what the daemon tells of single commands in containers, and the end of their processes. A mark in the
 * environment finds those.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import { killAll } from '../../../lib/processes/ending.ts';
import { findMembers, sessionVariable } from '../../../lib/processes/processes.ts';
import { type Engine, pause, statusOf } from '../engine/engine.ts';
import { isHere } from '../engine/host-view.ts';
import type { OpenExec } from './open-execs.ts';

export interface ExecsParts {
  engine: Engine;
  logger: Logger;
  clock: Clock;
}

/** Ends all processes with the mark `$0`, for containers whose processes cannot be reached from here. */
const endMarked = `for p in /proc/[0-9]*; do
  if [ "$p" != "/proc/$$" ] && grep -q "$0" "$p/environ" 2>/dev/null; then kill -9 "\${p#/proc/}"; fi
done`;
const looksMax = 50;
/** A daemon on a busy machine takes seconds to start a program. */
const beginLooksMax = 500;
const lookEveryMs = 20;

export class Execs {
  readonly #parts: ExecsParts;

  constructor(parts: ExecsParts) {
    this.#parts = parts;
  }

  /** The daemon hands out the connection before it starts the program, which until then cannot be found. */
  async begun(id: string): Promise<void> {
    const hasBegun = async (): Promise<true | undefined> => {
      const { Pid: pid, ExitCode: code } = await this.#parts.engine.ask(
        (docker) => docker.getExec(id).inspect(),
        { once: true },
      );
      return pid > 0 || code !== null ? true : undefined;
    };
    try {
      await this.await(hasBegun, beginLooksMax);
    } catch (error) {
      // It is gone with its container, or the daemon is.
      this.#parts.logger.debug({ err: error }, 'exec_start_unknown');
    }
  }

  /** The exit code; undefined while the program runs. */
  async codeNow(id: string): Promise<number | undefined> {
    const { engine } = this.#parts;
    const { Running: running, ExitCode: code } = await engine.ask(
      (docker) => docker.getExec(id).inspect(),
      { once: true },
    );
    return running ? undefined : (code ?? undefined);
  }

  /** The result of `look`, for which it waits up to a second, or as many looks as are given. */
  async await<T>(look: () => Promise<T | undefined>, max = looksMax): Promise<T | undefined> {
    for (let looks = 0; looks < max; looks++) {
      const found = await look();
      if (found !== undefined) return found;
      await pause(lookEveryMs, this.#parts.engine.closed);
    }
    return undefined;
  }

  /** Code null: the daemon does not know the code. `lost`: the daemon cannot be asked. */
  async exitOf(id: string): Promise<{ code: number | null; lost: boolean }> {
    try {
      // The output may end a moment before the daemon knows the exit code.
      const code = await this.await(() => this.codeNow(id));
      return { code: code ?? null, lost: false };
    } catch (error) {
      this.#parts.logger.debug({ err: error }, 'exec_end_unknown');
      return { code: null, lost: statusOf(error) === undefined };
    }
  }

  async endMarked({ mark, container }: OpenExec, pid: number): Promise<void> {
    const { clock, engine, logger } = this.#parts;
    const membership = { mark, variable: sessionVariable, first: null };
    if (isHere(pid, container)) {
      // Done twice, because a process that is just starting carries the mark only a moment later.
      await killAll(membership, clock);
      if (findMembers(membership).length > 0) await killAll(membership, clock);
      return;
    }
    try {
      const { id } = await engine.ask((docker) =>
        docker
          .getContainer(container)
          .exec({ Cmd: ['/bin/sh', '-c', endMarked, `${sessionVariable}=${mark}`] }),
      );
      await engine.ask((docker) => docker.getExec(id).start({ Detach: true }), { once: true });
    } catch (error) {
      // The container has ended, and the process with it.
      logger.debug({ err: error }, 'exec_not_ended');
    }
  }
}
