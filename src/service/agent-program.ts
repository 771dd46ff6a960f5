/**
 * Owns the agent as one file, for new servers. It is made when it is first asked for, by a program of its own which goes
 * behind everything else: our sources are read and compressed for it. One that fails is made anew for the next who asks.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { Logger } from '../lib/log.ts';

const program = fileURLToPath(new URL('../programs/agent-package/main.ts', import.meta.url));
const toldMax = 16_384;

export class AgentProgram {
  readonly #logger: Logger;
  #made: Promise<Uint8Array> | null = null;
  #maker: ChildProcess | null = null;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  readonly load = (): Promise<Uint8Array> => {
    this.#made ??= this.#make().catch((err: unknown) => {
      this.#made = null;
      this.#logger.error({ err }, 'agent_program_failed');
      throw err;
    });
    return this.#made;
  };

  close(): void {
    this.#maker?.kill('SIGKILL');
  }

  async #make(): Promise<Uint8Array> {
    const dir = await mkdtemp(join(tmpdir(), 'gangway-agent-'));
    try {
      const file = join(dir, 'agent.mjs');
      await this.#run(file);
      return await readFile(file);
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  }

  #run(file: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const maker = spawn(process.execPath, [...process.execArgv, program, file], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      this.#maker = maker;
      if (maker.pid !== undefined) setPriority(maker.pid, 10);
      let told = '';
      maker.stderr.setEncoding('utf8').on('data', (text: string) => {
        told = (told + text).slice(0, toldMax);
      });
      maker.once('error', reject).once('close', (code) => {
        if (code === 0) resolve();
        else reject(new Error(told.trim() || `The program ended with ${String(code)}.`));
      });
    });
  }
}
