/** Owns failures as people see them: a code, a sentence, the request's id, and what to do. */
import { CombinedError } from '@urql/core';

export class ApiError extends Error {
  /** As in docs/errors.md; NETWORK when no answer came. */
  readonly code: string;
  readonly requestId: string | null;

  constructor(code: string, sentence: string, requestId: string | null) {
    super(sentence);
    this.code = code;
    this.requestId = requestId;
  }

  get advice(): string {
    return advice[this.code] ?? adviceByDefault;
  }
}

const adviceByDefault = 'Change what the sentence names, and try again.';
const advice: Readonly<Record<string, string>> = {
  NETWORK: 'Check your connection; this page goes on by itself once it is back.',
  INTERNAL: 'Try again. If it stays, give the request id to whoever runs this Gangway.',
  UNAUTHENTICATED: 'Sign in again.',
  FORBIDDEN: 'Ask an owner of the team for this right.',
  NOT_FOUND: 'It may have been deleted or moved to trash meanwhile.',
  CONFLICT: 'Load the newest state and try again.',
  TWO_FACTOR_REQUIRED: 'Turn on two-factor for your account.',
  CROSS_SITE: 'Open this page under the public address of the instance.',
  RATE_LIMITED: 'Wait a moment, then try again.',
  TOO_MANY_STREAMS: 'Close other tabs that show logs, then try again.',
  OVERLOADED: 'Wait a moment, then try again.',
  MAILBOX_FULL: 'Wait a moment, then try again.',
  SHUTTING_DOWN: 'The service restarts; try again in a few seconds.',
  AGENT_UNREACHABLE: 'Look at the servers page, then try again.',
  DEADLINE_EXCEEDED: 'Look whether it happened before you try again.',
  STORAGE_FULL: 'Free some disk space on the server, then try again.',
  PAYLOAD_TOO_LARGE: 'Send less at once.',
  DEPLOY_IN_PROGRESS: 'Wait for the deployment under way, or cancel it.',
  UPLOAD_IN_PROGRESS: 'Wait for the upload under way.',
  NOT_DEPLOYABLE: 'Give the app something to deploy first.',
  NOT_RUNNING: 'Start it first.',
};

/** Whatever was thrown, as an ApiError. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof CombinedError) return ofCombined(thrown);
  const sentence = thrown instanceof Error ? thrown.message : String(thrown);
  return new ApiError('INTERNAL', sentence, null);
}

function ofCombined({ graphQLErrors, networkError, response }: CombinedError): ApiError {
  const answer = response as Response | undefined;
  const headerId = answer?.headers.get('x-request-id') ?? null;
  const [first] = graphQLErrors;
  if (first !== undefined) {
    const { code, requestId } = first.extensions as { code?: string; requestId?: string };
    return new ApiError(code ?? 'INTERNAL', first.message, requestId ?? headerId);
  }
  if (answer !== undefined && answer.status >= 400) {
    const code = answer.status === 401 ? 'UNAUTHENTICATED' : 'INTERNAL';
    return new ApiError(code, `The server answered ${String(answer.status)}.`, headerId);
  }
  const sentence = 'The server could not be reached.';
  return new ApiError(
    'NETWORK',
    networkError === undefined ? 'Nothing came back.' : sentence,
    null,
  );
}

/** The error of a byte transport, whose body is a problem document. */
export async function problemOf(answer: Response): Promise<ApiError> {
  const headerId = answer.headers.get('x-request-id');
  try {
    const body = (await answer.json()) as { code?: string; detail?: string; requestId?: string };
    const sentence = body.detail ?? `The server answered ${String(answer.status)}.`;
    return new ApiError(body.code ?? 'INTERNAL', sentence, body.requestId ?? headerId);
  } catch {
    return new ApiError('INTERNAL', `The server answered ${String(answer.status)}.`, headerId);
  }
}
