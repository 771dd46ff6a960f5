/**
 * Owns what a client learns of an error: a code of the table, a safe sentence, and where in the
 * document it was. What nobody expected is INTERNAL, and its cause goes to the log alone.
 */
import {
  type ASTNode,
  GraphQLError,
  type GraphQLFormattedError,
  Source,
  type SourceLocation,
} from 'graphql';
import { asServiceError, type ErrorCode, ServiceError } from '../lib/errors.ts';

/** Told of every error that was masked. */
export type InternalSink = (cause: unknown, path: string) => void;

/** An error of execution, or of making ready for it, as the client sees it. */
export function formatError(error: GraphQLError, onInternal: InternalSink): GraphQLFormattedError {
  const cause = error.originalError;
  if (cause instanceof ServiceError) return withPlace(error, cause);
  if (isInputError(error)) return withPlace(error, codeOnly('BAD_USER_INPUT', error.message));
  const path = (error.path ?? []).join('.');
  onInternal(cause ?? error, path);
  return withPlace(error, asServiceError(cause ?? error));
}

/** A refusal of a whole request, before anything of it ran. */
export function formatRefusal(code: ErrorCode, error: GraphQLError): GraphQLFormattedError {
  return withPlace(error, codeOnly(code, error.message));
}

/** A refusal of a whole request for what stands at one place in it. */
export function formatRefusalAt(node: ASTNode, error: ServiceError): GraphQLFormattedError {
  return withPlace(new GraphQLError(error.message, { nodes: node }), error);
}

export function formatServiceError(error: ServiceError): GraphQLFormattedError {
  return { message: error.message, extensions: extensionsOf(error) };
}

/**
 * Whether the caller's values were at fault: graphql-js has no class for it. Variables fail before
 * any field, so without a path; a field's arguments fail with a GraphQLError inside.
 */
function isInputError(error: GraphQLError): boolean {
  if (error.path === undefined) return true;
  const { originalError } = error;
  return originalError instanceof GraphQLError && originalError.message.startsWith('Argument "');
}

function withPlace(error: GraphQLError, shown: ServiceError): GraphQLFormattedError {
  const locations = placesOf(error);
  return {
    message: shown.message,
    ...(locations && { locations }),
    ...(error.path && { path: error.path }),
    extensions: extensionsOf(shown),
  };
}

function extensionsOf(error: ServiceError): Record<string, unknown> {
  return {
    ...error.extensions,
    ...(error.retryAfterS !== undefined && { retryAfterS: error.retryAfterS }),
    code: error.code,
  };
}

function codeOnly(code: ErrorCode, message: string): ServiceError {
  return new ServiceError(code, message);
}

/**
 * A text that is searched for lines once: graphql-js counts the lines before each error anew, 3 ms each
 * in a document of 60,000. It is taken from graphql-js when it has been parsed; what that then takes for
 * columns of a first line are offsets.
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
