/** Owns the input of a message and the forms that its answer can take; the transport makes HTTP of them. */
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
  /** Whether the client accepts Server-Sent Events. */
  takesEvents: boolean;
  caller: Caller;
}

export type McpAnswer =
  | { kind: 'json'; status: number; body: Uint8Array | string }
  /** A finished result as bytes. Its envelope with the id is written when it is sent. */
  | { kind: 'ready'; id: RpcId; result: ReadyResult }
  /** A notification was accepted. */
  | { kind: 'accepted' }
  /** Events: `run` sends each as JSON, the response last, and resolves after it. */
  | { kind: 'events'; run: (send: (json: string) => void) => Promise<void> }
  /** Events: `first`, then the connection is held. `last` is the response, sent when the service ends it. */
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
