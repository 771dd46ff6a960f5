/** Owns the thread that asks public registries: it runs while there is something to ask, and a little longer. */
import type { Piscina } from 'piscina';
import type { FoundBy, Outcome, Question, RegistryCall } from './questions.ts';

const task = new URL('../workers/tasks/registry.ts', import.meta.url);
const idleMs = 20_000;
const deadlineMs = 5_000;
const atOnce = 16;

export type RegistryThreadOptions = () => Omit<RegistryCall, 'question' | 'deadlineMs'>;

export class RegistryThread {
  readonly #options: RegistryThreadOptions;
  #piscina: Promise<Piscina> | null = null;

  /** `options` is asked for each question. */
  constructor(options: RegistryThreadOptions) {
    this.#options = options;
  }

  /** Rejects where the thread ended. */
  readonly ask = async (question: Question): Promise<Outcome<FoundBy[Question['kind']]>> => {
    const piscina = await (this.#piscina ??= start());
    const call: RegistryCall = { ...this.#options(), question, deadlineMs };
    return (await piscina.run(call, { name: 'askRegistry' })) as Outcome<FoundBy[Question['kind']]>;
  };

  async close(): Promise<void> {
    const piscina = await this.#piscina;
    await piscina?.destroy();
  }
}

async function start(): Promise<Piscina> {
  const { Piscina } = await import('piscina');
  return new Piscina({
    filename: task.href,
    minThreads: 0,
    maxThreads: 1,
    concurrentTasksPerWorker: atOnce,
    idleTimeout: idleMs,
    resourceLimits: { maxOldGenerationSizeMb: 192 },
  });
}
