/**
 * Owns an expression as a program: instructions over classes of code units, all units of a class being alike
 * for the whole expression.
 */
import { type Ranges, unitMax, wordCharacters } from './code-units.ts';
import { type Expression, type Place, refused } from './expression.ts';

export type Instruction =
  | { kind: 'unit'; ranges: Ranges; next: number }
  | { kind: 'either'; first: number; second: number }
  | { kind: 'place'; place: Place; next: number }
  | { kind: 'match' };

export interface Program {
  instructions: readonly Instruction[];
  start: number;
}

// Each unit of a text may take a step for each instruction.
const instructionsMax = 1_000;
// Repetitions of nothing take no instructions.
const buildsMax = 20_000;

export function programOf(expression: Expression): Program {
  const builder = new ProgramBuilder();
  const start = builder.build(expression, builder.add({ kind: 'match' }));
  return { instructions: builder.instructions, start };
}

class ProgramBuilder {
  readonly instructions: Instruction[] = [];
  #builds = 0;

  add(instruction: Instruction): number {
    if (this.instructions.length >= instructionsMax) throw tooLong();
    return this.instructions.push(instruction) - 1;
  }

  /** Where the part begins that goes on at `next`. */
  build(part: Expression, next: number): number {
    if (++this.#builds > buildsMax) throw tooLong();
    switch (part.kind) {
      case 'units':
        return this.add({ kind: 'unit', ranges: part.ranges, next });
      case 'place':
        return this.add({ kind: 'place', place: part.place, next });
      case 'sequence':
        return part.parts.reduceRight((behind, one) => this.build(one, behind), next);
      case 'choice':
        return part.options
          .map((option) => this.build(option, next))
          .reduceRight((second, first) => this.add({ kind: 'either', first, second }));
      case 'repeat':
        return this.#repeat(part, next);
    }
  }

  #repeat({ body, min, max }: Expression & { kind: 'repeat' }, next: number): number {
    let start = next;
    if (max === Infinity) {
      const loop = { kind: 'either' as const, first: next, second: next };
      start = this.add(loop);
      loop.first = this.build(body, start);
    } else {
      for (let more = min; more < max; more++) {
        start = this.add({ kind: 'either', first: this.build(body, start), second: next });
      }
    }
    for (let times = 0; times < min; times++) start = this.build(body, start);
    return start;
  }
}

function tooLong() {
  return refused('it is too long with its repetitions written out.');
}

export interface UnitClasses {
  /** The class of each code unit. */
  classOf: Uint16Array;
  /** A unit of each class. */
  samples: readonly number[];
}

export function classesOf(instructions: readonly Instruction[]): UnitClasses {
  const begins = new Set([0]);
  const cut = ([from, to]: readonly [number, number]): void => {
    begins.add(from);
    if (to < unitMax) begins.add(to + 1);
  };
  wordCharacters.forEach(cut);
  for (const instruction of instructions) {
    if (instruction.kind === 'unit') instruction.ranges.forEach(cut);
  }
  const samples = [...begins].sort((a, b) => a - b);
  const classOf = new Uint16Array(unitMax + 1);
  samples.forEach((from, i) => classOf.fill(i, from, samples[i + 1] ?? unitMax + 1));
  return { classOf, samples };
}

export function includes(ranges: Ranges, unit: number): boolean {
  return ranges.some(([from, to]) => unit >= from && unit <= to);
}
