/**
 * Owns the program of a console, and the workload that it runs in; one function for apps, one for
 * databases.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import { containerNames, containerWorkload } from '../app/running/containers.ts';
import { databaseActor } from '../database/protocol.ts';
import type { Actors } from '../runtime/actor.ts';
import type {
  ConsoleProgram,
  ConsolePrograms,
  ConsoleTarget,
} from '../../consoles/console-door.ts';

export interface WorkloadProgramsOptions {
  reader: Reader;
  actors: Pick<Actors, 'ask'>;
}

export class WorkloadPrograms implements ConsolePrograms {
  readonly #options: WorkloadProgramsOptions;

  constructor(options: WorkloadProgramsOptions) {
    this.#options = options;
  }

  async program(target: ConsoleTarget, container: string): Promise<ConsoleProgram> {
    return await this.#programOf(target, container, null);
  }

  async command(target: ConsoleTarget, container: string, line: string): Promise<ConsoleProgram> {
    return await this.#programOf(target, container, line);
  }

  async #programOf(
    target: ConsoleTarget,
    container: string,
    line: string | null,
  ): Promise<ConsoleProgram> {
    const { reader, actors } = this.#options;
    assertContainer(reader, target, container);
    if (target.kind === 'database') {
      return await actors.ask(databaseActor.at(target.id), { type: 'client', statement: line });
    }
    const command = line === null ? [] : ['/bin/sh', '-c', line];
    return { workloadId: this.#workloadOf(target.id, container), command, env: {} };
  }

  #workloadOf(appId: string, container: string): string {
    const app = this.#options.reader.get(tables.apps, appId);
    const workloadId = app && containerWorkload(app, container);
    if (workloadId === undefined) throw new ServiceError('NOT_RUNNING', 'It does not run.');
    return workloadId;
  }
}

/** Names of the containers of an app or a database, the default first; none when it is gone. */
function containersOf(reader: Reader, { kind, id }: ConsoleTarget): readonly string[] {
  if (kind === 'database') return ['database'];
  const app = reader.get(tables.apps, id);
  return app === undefined ? [] : containerNames(reader, app);
}

/** Throws NO_SUCH_CONTAINER; '' is the default. */
export function assertContainer(reader: Reader, target: ConsoleTarget, container: string): void {
  if (container === '' || containersOf(reader, target).includes(container)) return;
  throw new ServiceError('NO_SUCH_CONTAINER', 'There is no container of this name.');
}
