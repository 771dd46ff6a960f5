/**
 * Owns looking whether an expression matches anywhere in a text, in one pass: a deterministic automaton whose
 * states are made when a text first needs them (R. Cox, "Regular Expression Matching Can Be Simple And Fast").
 *
 * 1. The time is bounded by the text times the program, whatever the expression is.
 * 2. The states that are kept are bounded. Beyond that they are forgotten, and made again.
 */
import { wordCharacters } from './code-units.ts';
import type { Place } from './expression.ts';
import { classesOf, includes, type Program, type UnitClasses } from './program.ts';

const statesMax = 1_000;

/** What stands before or behind a position. */
type Neighbour = 'nothing' | 'word' | 'other';

interface State {
  /** Instructions that are next, ascending. */
  waiting: readonly number[];
  before: Neighbour;
  /** By the class of the next unit, and behind the last class by the text's end. */
  next: (State | 'matched' | undefined)[];
}

export class Automaton {
  readonly #program: Program;
  readonly #classes: UnitClasses;
  readonly #end: number;
  readonly #neighbours: readonly Neighbour[];
  /** Of each instruction that takes a unit: by class, whether it takes it. */
  readonly #takes: readonly (Uint8Array | null)[];
  readonly #states = new Map<string, State>();
  /** The round in which an instruction was last met. */
  readonly #met: Uint32Array;
  #round = 0;
  #first: State;

  constructor(program: Program) {
    this.#program = program;
    this.#classes = classesOf(program.instructions);
    const { samples } = this.#classes;
    this.#end = samples.length;
    this.#neighbours = samples.map((unit) => (includes(wordCharacters, unit) ? 'word' : 'other'));
    this.#takes = program.instructions.map((one) =>
      one.kind === 'unit'
        ? Uint8Array.from(samples, (unit) => Number(includes(one.ranges, unit)))
        : null,
    );
    this.#met = new Uint32Array(program.instructions.length);
    this.#first = this.#state([program.start], 'nothing');
  }

  /** Whether any part of the text matches. */
  finds(text: string): boolean {
    const { classOf } = this.#classes;
    let state = this.#first;
    for (let i = 0; i < text.length; i++) {
      const unitClass = classOf[text.charCodeAt(i)] ?? 0;
      const next = state.next[unitClass] ?? this.#step(state, unitClass);
      if (next === 'matched') return true;
      state = next;
    }
    return (state.next[this.#end] ?? this.#step(state, this.#end)) === 'matched';
  }

  #step(state: State, unitClass: number): State | 'matched' {
    const after = this.#neighbours[unitClass] ?? 'nothing';
    const next = this.#advance(state, unitClass, after);
    state.next[unitClass] = next;
    return next;
  }

  #advance(state: State, unitClass: number, after: Neighbour): State | 'matched' {
    const { instructions, start } = this.#program;
    const round = this.#newRound();
    const open = [...state.waiting];
    // A match may begin at any position.
    const waiting = new Set([start]);
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (this.#met[at] === round) continue;
      this.#met[at] = round;
      const instruction = instructions[at];
      switch (instruction?.kind) {
        case 'match':
          return 'matched';
        case 'either':
          open.push(instruction.second, instruction.first);
          break;
        case 'place':
          if (isAt(instruction.place, state.before, after)) open.push(instruction.next);
          break;
        case 'unit':
          if (this.#takes[at]?.[unitClass] === 1) waiting.add(instruction.next);
          break;
        case undefined:
          break;
      }
    }
    return this.#state(
      [...waiting].sort((a, b) => a - b),
      after,
    );
  }

  #newRound(): number {
    if (this.#round === 0xffff_ffff) {
      this.#met.fill(0);
      this.#round = 0;
    }
    return ++this.#round;
  }

  #state(waiting: readonly number[], before: Neighbour): State {
    const key = before + String.fromCharCode(...waiting);
    const known = this.#states.get(key);
    if (known) return known;
    if (this.#states.size >= statesMax) {
      this.#states.clear();
      this.#first = this.#state([this.#program.start], 'nothing');
    }
    const state: State = { waiting, before, next: [] };
    this.#states.set(key, state);
    return state;
  }
}

function isAt(place: Place, before: Neighbour, after: Neighbour): boolean {
  switch (place) {
    case 'start':
      return before === 'nothing';
    case 'end':
      return after === 'nothing';
    case 'wordEdge':
      return (before === 'word') !== (after === 'word');
    case 'noWordEdge':
      return (before === 'word') === (after === 'word');
  }
}
