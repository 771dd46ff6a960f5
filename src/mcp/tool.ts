/**
 * Owns the types of a tool, of a call of it, and of its outcome.
 *
 * 1. A tool is data and a document. GraphQL decides what it may do, for the principal that calls.
 * 2. A tool that fails answers with a sentence that the model can act on. The message of a thrown
 *    ServiceError is such a sentence, too. Any other thrown error is INTERNAL.
 */
import type { SignedIn } from '../auth/callers/principal.ts';
import type { Variables } from '../graphql/execution/operation.ts';
import type { Prepared } from '../graphql/execution/executor.ts';
import type { CallOptions } from '../graphql/graphql.ts';
import type { Capability } from '../lib/capabilities.ts';
import type { ToolGroup } from '../protocol/mcp-address.ts';

/** A JSON Schema (2020-12) as it is sent. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * `destroys`: it deletes or stops something that somebody may miss. The hints of a tool follow from the
 * effect.
 */
export type Effect = 'reads' | 'changes' | 'destroys';

export interface ToolInput {
  /** Root `type: object`, `additionalProperties: false`. */
  readonly schema: JsonSchema;
  /** The arguments as the tool takes them, or a sentence that says what does not fit. */
  read(args: unknown): { ok: true; value: ToolArguments } | { ok: false; sentence: string };
}

export type ToolArguments = Readonly<Record<string, unknown>>;

export interface Tool {
  /** `[A-Za-z0-9_.-]{1,64}`. */
  readonly name: string;
  readonly description: string;
  readonly group: ToolGroup;
  readonly effect: Effect;
  /** Whether a second call changes nothing more. */
  readonly idempotent: boolean;
  /** A token without it does not see the tool; null: every token sees it. */
  readonly needs: Capability | null;
  readonly input: ToolInput;
  /** The schema of `structuredContent`; null when the answer has no fixed shape. */
  readonly output: JsonSchema | null;
  /** Whether the tool may take long and reports its progress. */
  readonly slow?: boolean;
  /** `ClientCapabilities` that the client must have, such as `{ sampling: {} }`. */
  readonly needsOfClient?: Readonly<Record<string, object>>;
  /** Whether its answer depends on the caller, the arguments and the journal alone. */
  readonly repeatable?: boolean;
  run(call: ToolCall, args: ToolArguments): ToolOutcome | Promise<ToolOutcome>;
}

/** The caller of one call: the token's principal, acting in the team of the call. */
export type McpPrincipal = SignedIn & { readonly teamId: string };

export interface ToolCall {
  readonly principal: McpPrincipal;
  /** Aborts when the client leaves. Making the signal costs: use it only to wait. */
  readonly signal: AbortSignal;
  /** Runs a document as the caller, through the lanes and gates of `/api/graphql`. */
  graphql(
    document: string,
    variables: Variables,
    options?: DocumentOptions,
  ): GraphqlReply | Promise<GraphqlReply>;
  /** The result of preparing a document before it runs. */
  prepare(document: string, operationName?: string): Prepared | Promise<Prepared>;
  /** Results of a subscription as they come, each the JSON of a GraphQL answer, until `signal`. */
  subscribe(
    document: string,
    variables: Variables,
    signal: AbortSignal,
  ): AsyncGenerator<string, void>;
  /**
   * Removes what looks like a credential, the passwords of the team's databases, and the values of the
   * app's secret variables. Without an app, it removes those of every app of the team.
   */
  redact(text: string, appId?: string): string;
  /**
   * Opens the secrets that `redact` looks for with the same argument. Null when they are open. A large team
   * takes a while, once.
   */
  openSecrets(appId?: string): Promise<void> | null;
  /** Reports the progress to a client that asked for it. */
  progress(message: string): void;
  /** Milliseconds that a slow tool may take before it answers with the state so far. */
  readonly patienceMs: number;
}

/** `charsMax`: longer data is cut to a start of about this length, which is valid JSON, too. */
export type DocumentOptions = Pick<CallOptions, 'operationName' | 'prepared' | 'charsMax'>;

export interface GraphqlReply {
  /** Whether there was no error at all. */
  readonly clean: boolean;
  /** The text of `data`, JSON; `null` when there is none. */
  readonly dataJson: string;
  /** The errors as sentences, `<message> (<CODE>)`. */
  readonly errors: readonly string[];
}

export type ContentBlock = Readonly<{ type: string } & Record<string, unknown>>;

export type ToolOutcome =
  /** `json`: the text of `structuredContent`, and of the text block beside it. */
  | { kind: 'structured'; json: string }
  | { kind: 'text'; text: string }
  /** One or more sentences that the model can act on. */
  | { kind: 'failed'; sentence: string }
  /** Content blocks of any type. */
  | { kind: 'content'; content: readonly ContentBlock[]; isError?: boolean };

/** The client: `clientInfo` as it was sent, cut; null when there was none. */
export interface ClientInfo {
  readonly name: string;
  readonly version: string;
}

/** Bytes of one result, content and structured content together. */
export const resultBytesMax = 24_000;
