/**
 * Owns where in a document an error lies. For each error graphql-js counts the lines before it anew,
 * which makes every error dear in a document of many lines: 3 ms each for 60,000 of them.
 *
 * 1. Places are those that graphql-js gives, each found in time logarithmic in the lines.
 */
import { type GraphQLError, Source, type SourceLocation } from 'graphql';

/**
 * A text that is searched for lines once. It is taken from graphql-js when it has been parsed; what
 * graphql-js then takes for columns of a first line are offsets.
 */
export class PlacedSource extends Source {
  readonly #text: string;
  #lineStarts: Uint32Array | null = null;
  #parsed = false;

  constructor(text: string) {
    super(text);
    this.#text = text;
  }

  /** Nothing reads the text any more, unless to tell a place. */
  endParsing(): void {
    this.#parsed = true;
    this.body = '';
  }

  /** The true place of what graphql-js said, before the end of parsing or after it. */
  placeOf(said: SourceLocation): SourceLocation {
    return this.#parsed ? this.#placeAt(said.column - 1) : said;
  }

  #placeAt(offset: number): SourceLocation {
    const starts = (this.#lineStarts ??= lineStartsOf(this.#text));
    let line = 0;
    for (let end = starts.length; end - line > 1;) {
      const middle = (line + end) >>> 1;
      if ((starts[middle] ?? 0) <= offset) line = middle;
      else end = middle;
    }
    return { line: line + 1, column: offset - (starts[line] ?? 0) + 1 };
  }
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Where an error lies; undefined when it lies nowhere. */
export function placesOf({
  source,
  locations,
}: GraphQLError): readonly SourceLocation[] | undefined {
  if (!locations || !(source instanceof PlacedSource)) return locations;
  return locations.map((said) => source.placeOf(said));
}

function lineStartsOf(text: string): Uint32Array {
  const starts = [0];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === lineFeed || (code === carriageReturn && text.charCodeAt(at + 1) !== lineFeed)) {
      starts.push(at + 1);
    }
  }
  return Uint32Array.from(starts);
}
