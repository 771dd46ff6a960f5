/**
 * Owns the one table of error codes, and the error class that carries them.
 *
 * 1. A code is stable: clients match on it, docs/errors.md lists it, its status never changes.
 * 2. `detail` is a sentence that may be shown to anyone who gets the answer.
 * 3. Any other error is a bug or comes from outside: it is logged with its cause, and answered as
 *    INTERNAL without a word of it.
 */

export const errorTable = {
  BAD_REQUEST: { status: 400, title: 'Bad Request' },
  BAD_USER_INPUT: { status: 400, title: 'Bad Request' },
  GRAPHQL_PARSE_FAILED: { status: 400, title: 'Bad Request' },
  GRAPHQL_VALIDATION_FAILED: { status: 400, title: 'Bad Request' },
  COST_LIMIT: { status: 400, title: 'Bad Request' },
  FILENAME_REQUIRED: { status: 400, title: 'Bad Request' },
  ARCHIVE_EMPTY: { status: 400, title: 'Bad Request' },
  UNAUTHENTICATED: { status: 401, title: 'Unauthorized' },
  COOKIE_REQUIRED: { status: 401, title: 'Unauthorized' },
  FORBIDDEN: { status: 403, title: 'Forbidden' },
  CROSS_SITE: { status: 403, title: 'Forbidden' },
  SETUP_CODE_REQUIRED: { status: 403, title: 'Forbidden' },
  HOOK_DISABLED: { status: 403, title: 'Forbidden' },
  MCP_DISABLED: { status: 403, title: 'Forbidden' },
  TWO_FACTOR_REQUIRED: { status: 403, title: 'Forbidden' },
  TOKEN_SCOPE_GONE: { status: 403, title: 'Forbidden' },
  NOT_FOUND: { status: 404, title: 'Not Found' },
  NO_UPLOAD: { status: 404, title: 'Not Found' },
  NO_SUCH_SESSION: { status: 404, title: 'Not Found' },
  NO_SUCH_CONTAINER: { status: 404, title: 'Not Found' },
  METHOD_NOT_ALLOWED: { status: 405, title: 'Method Not Allowed' },
  NOT_ACCEPTABLE: { status: 406, title: 'Not Acceptable' },
  REQUEST_TIMEOUT: { status: 408, title: 'Request Timeout' },
  CONFLICT: { status: 409, title: 'Conflict' },
  UPLOAD_IN_PROGRESS: { status: 409, title: 'Conflict' },
  DEPLOY_IN_PROGRESS: { status: 409, title: 'Conflict' },
  NOT_AN_UPLOAD_APP: { status: 409, title: 'Conflict' },
  NOT_DEPLOYABLE: { status: 409, title: 'Conflict' },
  NOT_RUNNING: { status: 409, title: 'Conflict' },
  ENGINE_NOT_AVAILABLE: { status: 409, title: 'Conflict' },
  ILLEGAL_STEP: { status: 409, title: 'Conflict' },
  VERSION_MISMATCH: { status: 409, title: 'Conflict' },
  BACKUP_RUNNING: { status: 409, title: 'Conflict' },
  RESTORE_RUNNING: { status: 409, title: 'Conflict' },
  RUN_NOT_FINISHED: { status: 409, title: 'Conflict' },
  ENCRYPTION_REQUIRED: { status: 409, title: 'Conflict' },
  OBJECT_STORAGE: { status: 409, title: 'Conflict' },
  ARTIFACT_GONE: { status: 410, title: 'Gone' },
  PRECONDITION_FAILED: { status: 412, title: 'Precondition Failed' },
  PAYLOAD_TOO_LARGE: { status: 413, title: 'Content Too Large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: 'Unsupported Media Type' },
  UNSUPPORTED_ARCHIVE: { status: 415, title: 'Unsupported Media Type' },
  RANGE_NOT_SATISFIABLE: { status: 416, title: 'Range Not Satisfiable' },
  ARCHIVE_CORRUPT: { status: 422, title: 'Unprocessable Content' },
  ARCHIVE_TYPE_MISMATCH: { status: 422, title: 'Unprocessable Content' },
  ARCHIVE_UNSAFE_ENTRY: { status: 422, title: 'Unprocessable Content' },
  ARCHIVE_BOMB: { status: 422, title: 'Unprocessable Content' },
  ARCHIVE_ENCRYPTED: { status: 422, title: 'Unprocessable Content' },
  ARTIFACT_CORRUPT: { status: 422, title: 'Unprocessable Content' },
  CERTIFICATE_INVALID: { status: 422, title: 'Unprocessable Content' },
  CERTIFICATE_KEY_MISMATCH: { status: 422, title: 'Unprocessable Content' },
  CERTIFICATE_HOST_MISMATCH: { status: 422, title: 'Unprocessable Content' },
  CERTIFICATE_EXPIRED: { status: 422, title: 'Unprocessable Content' },
  RECOVERY_KEY_WRONG: { status: 422, title: 'Unprocessable Content' },
  ARTIFACT_UNFIT: { status: 422, title: 'Unprocessable Content' },
  SOURCE_TOO_LARGE: { status: 422, title: 'Unprocessable Content' },
  IMAGE_BUILD_FAILED: { status: 422, title: 'Unprocessable Content' },
  IMAGE_NOT_FOUND: { status: 422, title: 'Unprocessable Content' },
  REGISTRY_REFUSED: { status: 422, title: 'Unprocessable Content' },
  RECOVERY_KEY_REQUIRED: { status: 428, title: 'Precondition Required' },
  RATE_LIMITED: { status: 429, title: 'Too Many Requests' },
  TOO_MANY_STREAMS: { status: 429, title: 'Too Many Requests' },
  HEADERS_TOO_LARGE: { status: 431, title: 'Request Header Fields Too Large' },
  INTERNAL: { status: 500, title: 'Internal Server Error' },
  UNSUPPORTED_SOURCE: { status: 501, title: 'Not Implemented' },
  GIT_PROVIDER_FAILED: { status: 502, title: 'Bad Gateway' },
  REGISTRY_FAILED: { status: 502, title: 'Bad Gateway' },
  DESTINATION_FAILED: { status: 502, title: 'Bad Gateway' },
  VERIFICATION_FAILED: { status: 502, title: 'Bad Gateway' },
  GIT_FAILED: { status: 502, title: 'Bad Gateway' },
  DUMP_FAILED: { status: 502, title: 'Bad Gateway' },
  RESTORE_FAILED: { status: 502, title: 'Bad Gateway' },
  BACKUP_INTERRUPTED: { status: 503, title: 'Service Unavailable' },
  RESTORE_INTERRUPTED: { status: 503, title: 'Service Unavailable' },
  MAILBOX_FULL: { status: 503, title: 'Service Unavailable' },
  OVERLOADED: { status: 503, title: 'Service Unavailable' },
  AGENT_UNREACHABLE: { status: 503, title: 'Service Unavailable' },
  SHUTTING_DOWN: { status: 503, title: 'Service Unavailable' },
  DEADLINE_EXCEEDED: { status: 504, title: 'Gateway Timeout' },
  STORAGE_FULL: { status: 507, title: 'Insufficient Storage' },
} as const;

export type ErrorCode = keyof typeof errorTable;

export interface ServiceErrorOptions {
  /** Seconds until a retry makes sense; sent as `Retry-After`. 429 and 503 default to 1. */
  retryAfterS?: number;
  /** Further response headers, such as `Allow` or `WWW-Authenticate`. */
  headers?: Readonly<Record<string, string>>;
  /** Further members of the problem document or of GraphQL `extensions`; safe to show. */
  extensions?: Readonly<Record<string, unknown>>;
  cause?: unknown;
}

/** A ServiceError as it crosses a thread or a socket. */
export interface PlainServiceError extends Omit<ServiceErrorOptions, 'cause'> {
  code: ErrorCode;
  detail: string;
}

/** An expected failure: a stable code, its status, and a sentence safe to show. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly retryAfterS: number | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly extensions: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, detail: string, options: ServiceErrorOptions = {}) {
    super(detail, { cause: options.cause });
    this.name = 'ServiceError';
    this.code = code;
    const retries = this.status === 429 || this.status === 503;
    this.retryAfterS = options.retryAfterS ?? (retries ? 1 : undefined);
    this.headers = options.headers;
    this.extensions = options.extensions;
  }

  get status(): number {
    return errorTable[this.code].status;
  }

  get title(): string {
    return errorTable[this.code].title;
  }

  toPlain(): PlainServiceError {
    return {
      code: this.code,
      detail: this.message,
      ...(this.retryAfterS !== undefined && { retryAfterS: this.retryAfterS }),
      ...(this.headers && { headers: this.headers }),
      ...(this.extensions && { extensions: this.extensions }),
    };
  }

  static fromPlain(plain: PlainServiceError): ServiceError {
    return new ServiceError(plain.code, plain.detail, plain);
  }
}

/** What callers may learn of any thrown value: a ServiceError as it is, all else as INTERNAL. */
export function asServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  return new ServiceError('INTERNAL', 'Something went wrong on our side.', { cause: thrown });
}

/** Of work that is asked for while the service ends. */
export function shuttingDown(): ServiceError {
  return new ServiceError('SHUTTING_DOWN', 'The service is shutting down. Try again soon.');
}
