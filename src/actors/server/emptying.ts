/**
 * Owns emptying a server that is removed by force: what is there is moved to this machine, and then the server is removed.
 *
 * 1. Databases go first, so that apps find them here. One after the other: each takes the link for itself.
 * 2. What cannot be moved ends it: the server stays, and says why. So does what a server has that is lost on the way.
 * 3. Previews and what is in trash stay behind.
 * 4. A move under way, from it or to it, is waited for, and what came meanwhile is moved, too: the server is removed in
 *    the turn that finds nothing more.
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
  kind: 'database' | 'app';
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
        for (;;) {
          const next = await context.report(() => this.#nextOrTake(serverId));
          if (next === undefined) return;
          await this.#moveAway(next, serverId, signal);
        }
      } catch (error) {
        if (signal.aborted) return;
        await context.report(() => failed(serverId, sentenceOf(error)));
      } finally {
        this.#underWay.delete(serverId);
      }
    });
  }

  async #nextOrTake(serverId: string): Promise<Thing | undefined> {
    const next = this.#next(serverId);
    if (next === undefined) await this.#options.context.commit([take(tables.servers, serverId)]);
    return next;
  }

  /** Something that is there, or on its way from or to there. */
  #next(serverId: string): Thing | undefined {
    const { reader } = this.#options;
    const [key, all] = [[serverId], { limit: Infinity }];
    const [database] = [
      ...reader.list(tables.databases, 'moving', key, all),
      ...reader.list(tables.databases, 'server', key, all).filter(isInUse),
    ];
    if (database !== undefined) return { ...database, kind: 'database' };
    const [app] = [
      ...reader.list(tables.apps, 'moving', key, all),
      ...reader
        .list(tables.apps, 'server', key, all)
        .filter((one) => isInUse(one) && one.previewOf === undefined),
    ];
    return app && { ...app, kind: 'app' };
  }

  /** Resolves when it is here, and its files are not there any more; or when a move that was under way is over. */
  async #moveAway(thing: Thing, serverId: string, signal: AbortSignal): Promise<void> {
    const { context, reader } = this.#options;
    if (isUnderWay(thing.move)) {
      await this.#until(thing, (move) => !isUnderWay(move), signal);
      return;
    }
    const message = { type: 'move', serverId: localServerId, isForced: true } as const;
    if (thing.kind === 'database') await context.actors.ask(databaseActor.at(thing.id), message);
    else await context.actors.ask(appActor.at(thing.id), message);
    const move = await this.#until(thing, (one) => !isUnderWay(one), signal);
    if (move?.phase === 'failed') {
      throw new WorkFailed(`${thing.name} is not moved: ${move.error ?? ''}`);
    }
    await this.#until(
      thing,
      (one) => {
        if (one?.hasLeftover !== true) return true;
        if (reader.get(tables.servers, serverId)?.connected === true) return false;
        throw new WorkFailed(`It went away before the files of ${thing.name} were removed there.`);
      },
      signal,
    );
  }

  async #until(
    { kind, id }: Thing,
    isSo: (move: MoveRecord | undefined) => boolean,
    signal: AbortSignal,
  ): Promise<MoveRecord | undefined> {
    const { reader, clock } = this.#options;
    for (;;) {
      const isDatabase = kind === 'database';
      const thing = isDatabase ? reader.get(tables.databases, id) : reader.get(tables.apps, id);
      if (isSo(thing?.move)) return thing?.move;
      await pause(clock, pollMs, signal);
    }
  }
}

function isUnderWay(move: MoveRecord | undefined): boolean {
  return move?.endedAtMs === null;
}

function isInUse({ deletedAtMs }: { deletedAtMs: number | null }): boolean {
  return deletedAtMs === null;
}
