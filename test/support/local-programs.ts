/** Programs beside no workload at all, for tests of what is done with their streams. */
import { spawn } from 'node:child_process';
import type { Driver } from '../../src/drivers/driver.ts';
import type { WorkloadSpec } from '../../src/protocol/workload.ts';

export interface LocalPrograms extends Pick<Driver, 'start' | 'pipe' | 'remove'> {
  readonly started: WorkloadSpec[];
  readonly removed: string[];
  /** The command lines and variables of all programs. */
  readonly ran: { command: readonly string[]; env: Readonly<Record<string, string>> }[];
}

export function localPrograms(): LocalPrograms {
  const specs = new Map<string, WorkloadSpec>();
  const self: LocalPrograms = {
    started: [],
    removed: [],
    ran: [],
    start: (spec) => {
      specs.set(spec.id, spec);
      self.started.push(spec);
      const state = { phase: 'running', startedAtMs: 0, restarts: 0 } as const;
      return Promise.resolve({ spec, state });
    },
    remove: (id) => {
      specs.delete(id);
      self.removed.push(id);
      return Promise.resolve();
    },
    pipe: (id, { command, env }, input, signal) => {
      const spec = specs.get(id);
      if (spec === undefined) throw new Error('it does not run');
      const whole = { ...spec.env, ...env };
      self.ran.push({ command, env: whole });
      const [program = '', ...args] = command;
      const child = spawn(program, args, { cwd: spec.workingDir, env: whole, signal });
      const { promise: failed, reject } = Promise.withResolvers<never>();
      child.on('error', reject);
      child.stdin.on('error', () => undefined);
      void feed(child.stdin, input).catch((error: unknown) => {
        child.kill('SIGKILL');
        reject(error);
      });
      let complaint = '';
      child.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
      const closed = new Promise<{ exitCode: number; complaint: string }>((resolve) => {
        child.once('close', (code) => resolve({ exitCode: code ?? 137, complaint }));
      });
      const ended = Promise.race([failed, closed]);
      ended.catch(() => undefined);
      const output = async function* (): AsyncGenerator<Uint8Array> {
        yield* child.stdout as AsyncIterable<Uint8Array>;
        await ended;
      };
      return Promise.resolve({ output: output(), ended });
    },
  };
  return self;
}

async function feed(
  to: NodeJS.WritableStream,
  input: AsyncIterable<Uint8Array> | null,
): Promise<void> {
  for await (const chunk of input ?? []) {
    if (!to.write(chunk)) await new Promise((resolve) => to.once('drain', resolve));
  }
  to.end();
}
