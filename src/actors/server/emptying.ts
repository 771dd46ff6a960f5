/**
 * Owns emptying a server that is removed by force: what is there is moved to this machine, and then the server is removed.
 *
 * 1. Databases go first, so that apps find them here. One after the other: each takes the link for itself.
 * 2. What cannot be moved ends it: the server stays, and says why. So does what a server has that is lost on the way.
 * 3. Previews and what is in trash stay behind.
 */
import { type Clock, pause } from '../../lib/clock.ts';
import { localServerId } from '../../places/local-place.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { MoveRecord } from '../../store/records/records.ts';
import { take } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { appActor } from '../app/protocol.ts';
import { databaseActor } from '../database/protocol.ts';
import type { ActorContext } from '../runtime/actor.ts';
import { sentenceOf, WorkFailed } from '../workload/work-failed.ts';
import type { ServersProtocol } from './protocol.ts';

export interface EmptyingOptions {
  reader: Reader;
  clock: Clock;
  context: ActorContext<ServersProtocol>;
  /** It could not be emptied. */
  failed: (serverId: string, problem: string) => Promise<unknown>;
}

interface Thing {
  id: string;
  name: string;
  move?: MoveRecord;
}

const pollMs = 500;

export class Emptying {
  readonly #options: EmptyingOptions;
  readonly #underWay = new Set<string>();

  constructor(options: EmptyingOptions) {
    this.#options = options;
  }

  /** May be repeated. */
  begin(serverId: string): void {
    if (this.#underWay.has(serverId)) return;
    this.#underWay.add(serverId);
    const { context, failed } = this.#options;
    context.work(`empty:${serverId}`, async (signal) => {
      try {
        await this.#empty(serverId, signal);
        await context.report(() => context.commit([take(tables.servers, serverId)]));
      } catch (error) {
        if (signal.aborted) return;
        await context.report(() => failed(serverId, sentenceOf(error)));
      } finally {
        this.#underWay.delete(serverId);
      }
    });
  }

  async #empty(serverId: string, signal: AbortSignal): Promise<void> {
    const { reader, context } = this.#options;
    const all = { limit: Infinity };
    const message = { type: 'move', serverId: localServerId, isForced: true } as const;
    for (const database of reader.list(tables.databases, 'server', [serverId], all)) {
      if (database.deletedAtMs !== null) continue;
      await context.actors.ask(databaseActor.at(database.id), message);
      await this.#moved(database, () => reader.get(tables.databases, database.id), signal);
    }
    for (const app of reader.list(tables.apps, 'server', [serverId], all)) {
      if (app.deletedAtMs !== null || app.previewOf !== undefined) continue;
      await context.actors.ask(appActor.at(app.id), message);
      await this.#moved(app, () => reader.get(tables.apps, app.id), signal);
    }
  }

  /** Resolves when it is here, and its files are not there any more. */
  async #moved(
    { name }: Thing,
    look: () => Readonly<Thing> | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    for (;;) {
      const move = look()?.move;
      if (move?.phase === 'failed')
        throw new WorkFailed(`${name} is not moved: ${move.error ?? ''}`);
      if (move === undefined || (move.phase === 'done' && !move.hasLeftover)) return;
      await pause(this.#options.clock, pollMs, signal);
    }
  }
}
