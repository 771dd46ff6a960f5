/**
 * Owns one call of a tool as the tool sees it: documents that run as the caller, progress, and the time
 * limit.
 *
 * 1. A call runs in one team. For its documents nothing exists in another team, whatever ids they name: MCP
 *    may be off there, and redaction does not know the other team's secrets.
 */
import type { AgentSide } from '../graphql/context.ts';
import type { Variables } from '../graphql/execution/operation.ts';
import type { Graphql } from '../graphql/graphql.ts';
import type { GraphqlAnswer } from '../graphql/execution/lanes.ts';
import { isObject } from '../protocol/json-rpc.ts';
import type { DocumentOptions, GraphqlReply, McpPrincipal, ToolCall } from './tool.ts';

/** The part of GraphQL that the MCP server needs. */
export type GraphqlDoor = Pick<Graphql, 'execute' | 'subscribe' | 'prepare'>;

/** The request of a call; it belongs to the transport. */
export interface Caller {
  /** Whether nobody waits any more. */
  readonly aborted: boolean;
  /** Made on demand. */
  readonly signal: AbortSignal;
  readonly address: string;
  /** A request header by its lower-case name; '' when absent. */
  header(name: string): string;
}

/** Removes credentials from the text for a caller. */
export interface CallRedaction {
  /**
   * Without an app, the secrets of every app of the team that the caller sees. Secrets of databases always.
   */
  redact(text: string, principal: McpPrincipal, appId?: string): string;
  /**
   * Opens the secrets that `redact` needs for one app of a team, or for the whole team; null when they are
   * open.
   */
  open(teamId: string, isForApp: boolean): Promise<void> | null;
}

export interface CallOptions {
  door: GraphqlDoor;
  redaction: CallRedaction;
  principal: McpPrincipal;
  caller: Caller;
  agent: AgentSide;
  progress: ((message: string) => void) | null;
  patienceMs: number;
  /** Aborts when the service drains. Then nothing waits any longer. */
  draining: AbortSignal;
}

export class GraphqlCall implements ToolCall {
  readonly #options: CallOptions;
  readonly #confined: McpPrincipal;

  constructor(options: CallOptions) {
    this.#options = options;
    this.#confined = { ...options.principal, confined: true };
  }

  get principal(): McpPrincipal {
    return this.#options.principal;
  }

  get signal(): AbortSignal {
    return this.#options.caller.signal;
  }

  get patienceMs(): number {
    return this.#options.patienceMs;
  }

  graphql(document: string, variables: Variables, options?: DocumentOptions) {
    const { door, caller, agent } = this.#options;
    const answer = door.execute(document, variables, this.#confined, { caller, agent, ...options });
    return answer instanceof Promise ? answer.then(replyOf) : replyOf(answer);
  }

  subscribe(
    document: string,
    variables: Variables,
    signal: AbortSignal,
  ): AsyncGenerator<string, void> {
    const { door, caller, agent, draining } = this.#options;
    const any = AbortSignal.any([caller.signal, signal, draining]);
    return door.subscribe(document, variables, this.#confined, { signal: any, agent });
  }

  prepare(document: string, operationName?: string) {
    return this.#options.door.prepare(document, operationName);
  }

  redact(text: string, appId?: string): string {
    return this.#options.redaction.redact(text, this.#options.principal, appId);
  }

  openSecrets(appId?: string): Promise<void> | null {
    return this.#options.redaction.open(this.#options.principal.teamId, appId !== undefined);
  }

  progress(message: string): void {
    this.#options.progress?.(message);
  }
}

const dataStart = '{"data":'.length;

function replyOf({ kind, body }: GraphqlAnswer): GraphqlReply {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  if (kind === 'executed') return { clean: true, dataJson: text.slice(dataStart, -1), errors: [] };
  const { data, errors } = JSON.parse(text) as { data?: unknown; errors?: unknown };
  return {
    clean: false,
    dataJson: data === undefined || data === null ? 'null' : JSON.stringify(data),
    errors: Array.isArray(errors) ? errors.map(sentenceOf) : [],
  };
}

function sentenceOf(error: unknown): string {
  if (!isObject(error)) return 'Something went wrong.';
  const { message, extensions } = error;
  const code = isObject(extensions) ? extensions['code'] : undefined;
  return typeof code === 'string' ? `${String(message)} (${code})` : String(message);
}
