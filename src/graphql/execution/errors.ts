/**
 * Owns what a client learns of an error: a code of the table, a safe sentence, and where in the
 * document it was. What nobody expected is INTERNAL, and its cause goes to the log alone.
 */
import { type ASTNode, GraphQLError, type GraphQLFormattedError } from 'graphql';
import { asServiceError, type ErrorCode, ServiceError } from '../../lib/errors.ts';
import { placesOf } from '../gate/error-positions.ts';

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
