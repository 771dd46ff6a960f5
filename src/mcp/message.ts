/**
 * Owns what a message says, and what follows from that alone. It may stand for many messages that
 * differ in their ids only, so that it is worked out once.
 */
import { isObject, type RpcParams } from '../protocol/json-rpc.ts';
import type { ClientInfo } from './tool.ts';
import { clientOf, metaOf } from './revision.ts';

/** What is told of a request in the access log. */
export interface RequestNote {
  rpc: string;
  tool: string | null;
  client: string | null;
  traceparent: string | null;
}

export class MessageContent {
  readonly method: string;
  readonly params: RpcParams;
  /** Who speaks, where it says so. */
  readonly client: ClientInfo | null;
  #note: RequestNote | undefined;
  #callKey: Uint8Array | undefined;

  constructor(method: string, params: RpcParams) {
    this.method = method;
    this.params = params;
    this.client = clientOf(params);
  }

  /** `rpc`, `tool`: the method and the tool, where there are such; the same each time. */
  note(rpc: string, tool: string | null): RequestNote {
    if (this.#note === undefined) {
      const { traceparent } = metaOf(this.params);
      this.#note = Object.freeze({
        rpc,
        tool,
        client: this.client?.name ?? null,
        traceparent: typeof traceparent === 'string' ? traceparent : null,
      });
    }
    return this.#note;
  }

  /** What a call of a tool asks for, as bytes that no other call has. */
  get callKey(): Uint8Array {
    const { name, arguments: args = {} } = this.params;
    this.#callKey ??= Buffer.from(`${String(name)} ${JSON.stringify(args)}`);
    return this.#callKey;
  }
}

/** Nobody may change any more what many will read. */
export function frozen(content: MessageContent): MessageContent {
  freeze(content.params);
  return content;
}

// No deeper than messages may nest.
function freeze(value: unknown): void {
  if (Array.isArray(value)) value.forEach(freeze);
  else if (isObject(value)) Object.values(value).forEach(freeze);
  Object.freeze(value);
}
