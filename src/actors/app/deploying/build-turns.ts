/**
 * Owns the turns of teams at building. Deployments build in the order of their turns, and those of one turn in
 * the order in which they were made (start-time fair queueing, with every build of the same length).
 *
 * 1. The turns of a team's waiting deployments ascend. The first of them joins the turn that is being served,
 *    or the next where the team had that one: so teams alternate, and one that asks for many builds delays
 *    another by one.
 * 2. A turn is stored with its deployment. So a reader sees the order, and it stays over a restart.
 */
import type { DeploymentRecord } from '../../../store/records/records.ts';

/** A deployment with its place; 0 is the turn of one that was made before there were turns. */
export type Queued = Pick<DeploymentRecord, 'id' | 'teamId' | 'buildTurn'>;

export class BuildTurns {
  /** Those that wait, by id. */
  readonly #waiting = new Map<string, { teamId: string; turn: number }>();
  /** The latest turn of which a build began, and the teams that had it. */
  #served = 0;
  #had = new Set<string>();

  /** `queued`: what waits as the service starts. */
  constructor(queued: readonly Queued[]) {
    for (const { id, teamId, buildTurn: turn = 0 } of queued)
      this.#waiting.set(id, { teamId, turn });
    const turns = queued.map(({ buildTurn = 0 }) => buildTurn);
    if (turns.length > 0) this.#served = turns.reduce((least, turn) => Math.min(least, turn));
  }

  /** The turn of a deployment that is being made. */
  next(id: string, teamId: string): number {
    let turn = this.#served + Number(this.#had.has(teamId));
    for (const other of this.#waiting.values()) {
      if (other.teamId === teamId) turn = Math.max(turn, other.turn + 1);
    }
    this.#waiting.set(id, { teamId, turn });
    return turn;
  }

  /** Its build begins. */
  begin({ id, teamId, buildTurn = 0 }: Queued): void {
    this.#waiting.delete(id);
    if (buildTurn > this.#served) this.#had.clear();
    this.#served = Math.max(this.#served, buildTurn);
    if (buildTurn === this.#served) this.#had.add(teamId);
  }

  /** It will not build. */
  drop(id: string): void {
    this.#waiting.delete(id);
  }
}
