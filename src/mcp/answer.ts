/** Owns what a message comes with, and the forms its answer can take; the transport makes HTTP of them. */
import { errorJson, type ReadyResult, type RpcFault, type RpcId } from '../protocol/json-rpc.ts';
import type { Caller } from './graphql-call.ts';
import type { HeaderOf } from './revision.ts';
import type { McpPrincipal } from './tool.ts';

export interface McpRequest {
  /** Lent until `answer` returns. */
  body: Uint8Array;
  header: HeaderOf;
  principal: McpPrincipal;
  /** The query string. */
  query: string;
  /** Whether the client takes Server-Sent Events. */
  takesEvents: boolean;
  caller: Caller;
}

export type McpAnswer =
  | { kind: 'json'; status: number; body: Uint8Array | string }
  /** A result that is there as bytes: what stands before it is written when it is sent. */
  | { kind: 'ready'; id: RpcId; result: ReadyResult }
  /** A notification was taken. */
  | { kind: 'accepted' }
  /** Events: `run` sends each as JSON, the response last, and resolves after it. */
  | { kind: 'events'; run: (send: (json: string) => void) => Promise<void> }
  /** Events: `first`, then the connection is held; `last` is the response, when we end it. */
  | { kind: 'listen'; first: string; last: string };

export function answerJson(body: Uint8Array | string): McpAnswer {
  return { kind: 'json', status: 200, body };
}

export function answerReady(id: RpcId, result: ReadyResult): McpAnswer {
  return { kind: 'ready', id, result };
}

export function answerFault(status: number, id: RpcId | undefined, fault: RpcFault): McpAnswer {
  return { kind: 'json', status, body: errorJson(id, fault) };
}
