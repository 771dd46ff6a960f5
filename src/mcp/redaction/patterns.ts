/** Owns all that is found by its shape or its name, together: one walk for all of them. */
import { Anchors } from './anchors.ts';
import { assignedSecret, assignmentWords } from './assignments.ts';
import type { Span } from './spans.ts';
import { findAddresses, type Rule, skShape, tokenShapes } from './token-shapes.ts';

export class Patterns {
  readonly #anchors: Anchors<Rule>;

  constructor() {
    const shapes = tokenShapes.flatMap(({ words, rule }) => words.map((word) => ({ word, rule })));
    const assignments = assignmentWords.map((word) => ({ word, rule: assignedSecret }));
    this.#anchors = new Anchors<Rule>([...shapes, ...assignments]);
  }

  /** Adds to `spans` what is to be taken out of `text`; stops once they are more than `spansMax`. */
  find(text: string, spans: Span[], spansMax = Infinity): void {
    let done = 0;
    this.#anchors.each(text, (rule, at) => {
      // What stands in what was found is taken out with it.
      if (at >= done) done = take(rule(text, at), spans) ?? done;
      return spans.length > spansMax;
    });
    const { word, rule } = skShape;
    let at = text.indexOf(word);
    while (at >= 0 && spans.length <= spansMax) {
      at = text.indexOf(word, take(rule(text, at), spans) ?? at + 1);
    }
    if (spans.length <= spansMax) findAddresses(text, spans, spansMax);
  }
}

function take(span: Span | null, spans: Span[]): number | null {
  if (span === null) return null;
  spans.push(span);
  return span.end;
}
