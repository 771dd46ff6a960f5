/**
 * Owns which of several targets is to take the next request or connection.
 *
 * 1. The one with the fewest under way comes first; of several the one whose turn is longest ago.
 * 2. One that refused comes last for a while. Then a single one tries it; all others do when it took that.
 */
import type { Clock } from './clock.ts';

interface State {
  underWay: number;
  /** When it came first last, as a number that ascends. */
  turn: number;
  /** When it refused, or when it was tried again since; null: it takes what comes. */
  refusedAtMs: number | null;
}

const refusedMs = 2000;

export class Balancer<T extends object> {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #states = new WeakMap<T, State>();
  #turn = 0;
  /** Of the target that was asked for before: mostly it is the same. */
  #last: { target: T; state: State } | null = null;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** All of them, in the order in which to try them. */
  order(targets: readonly T[]): readonly T[] {
    if (targets.length < 2) return targets;
    const nowMs = this.#clock.now();
    const ranked = targets.map((target) => {
      const state = this.#stateOf(target);
      return { target, state, isOut: isOut(state, nowMs) };
    });
    ranked.sort(
      (a, b) =>
        Number(a.isOut) - Number(b.isOut) ||
        a.state.underWay - b.state.underWay ||
        a.state.turn - b.state.turn,
    );
    const first = ranked[0]?.state;
    if (first) {
      first.turn = ++this.#turn;
      if (first.refusedAtMs !== null) first.refusedAtMs = nowMs;
    }
    return ranked.map(({ target }) => target);
  }

  begin(target: T): void {
    this.#stateOf(target).underWay++;
  }

  end(target: T): void {
    this.#stateOf(target).underWay--;
  }

  noteRefused(target: T): void {
    this.#stateOf(target).refusedAtMs = this.#clock.now();
  }

  noteTaken(target: T): void {
    this.#stateOf(target).refusedAtMs = null;
  }

  #stateOf(target: T): State {
    if (this.#last?.target === target) return this.#last.state;
    const state = this.#states.get(target) ?? { underWay: 0, turn: 0, refusedAtMs: null };
    this.#states.set(target, state);
    this.#last = { target, state };
    return state;
  }
}

function isOut({ refusedAtMs }: State, nowMs: number): boolean {
  if (refusedAtMs === null) return false;
  const passedMs = nowMs - refusedAtMs;
  // A clock may be set back.
  return passedMs >= 0 && passedMs < refusedMs;
}
