/**
 * Owns the bytes of the results given last: other calls, and those of other callers, often end with
 * the very same answer, and to write one twice, as text and as structured content, takes longer than
 * to find it.
 *
 * 1. A result is found by its JSON alone, which is all that it is made of.
 */
import { readyBytes } from '../protocol/json-rpc.ts';
import type { ToolOutcome } from './tool.ts';
import { outcomeJson } from './results.ts';

interface Given {
  json: string;
  bytes: Uint8Array;
}

const givenMax = 8;
/** To write a short one costs no more than to look for it. */
const charsMin = 500;

export class ResultBytes {
  readonly #tail: string;
  readonly #given: Given[] = [];
  #next = 0;

  /** `tail`: as `resultTail` makes it. */
  constructor(tail: string) {
    this.#tail = tail;
  }

  /** As `readyBytes` makes them; perhaps given before, and given again. */
  of(outcome: ToolOutcome): Uint8Array {
    const isKept = outcome.kind === 'structured' && outcome.json.length >= charsMin;
    if (!isKept) return readyBytes(outcomeJson(outcome, this.#tail));
    const { json } = outcome;
    for (const given of this.#given) if (given.json === json) return given.bytes;
    const bytes = readyBytes(outcomeJson(outcome, this.#tail));
    this.#given[this.#next] = { json, bytes };
    this.#next = (this.#next + 1) % givenMax;
    return bytes;
  }
}
