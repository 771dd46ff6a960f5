/**
 * Owns the protocol revision of a message, and the rules between its headers and its body. Pure.
 *
 * 1. A message is marked as 2026-07-28 by a header or a key of `_meta`. Then it must keep all rules of that
 *    revision.
 * 2. A message without a mark is answered as well: in the minimal shape, or as one of a revision that began
 *    with `initialize`. Its headers are not checked.
 *
 * Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
 */
import { isObject, type RpcFault, rpcCodes, type RpcParams } from '../protocol/json-rpc.ts';
import type { ClientInfo } from './tool.ts';
import { decodeHeaderValue } from './header-value.ts';

export const currentRevision = '2026-07-28';
/** The newest comes first, and is offered to a client that asks for an unknown one. */
export const earlierRevisions = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;

export const mcpCodes = {
  headerMismatch: -32020,
  capabilityRequired: -32021,
  unsupportedVersion: -32022,
} as const;

const metaPrefix = 'io.modelcontextprotocol/';

/** `modern`: 2026-07-28 with all marks. `minimal`: without any. `earlier`: an older revision. */
export type Era = 'modern' | 'minimal' | 'earlier';

export interface Message {
  method: string;
  params: RpcParams;
}

/** A request header by its lower-case name; '' when absent. */
export type HeaderOf = (name: string) => string;

export function eraOf(header: HeaderOf, { params }: Message): Era {
  const version = header('mcp-protocol-version').trim();
  const isEarlier = (earlierRevisions as readonly string[]).includes(version);
  if (Object.keys(metaOf(params)).some((key) => modernKeys.has(key))) return 'modern';
  // The version decides, whatever other headers there are.
  if (isEarlier) return 'earlier';
  const isMarked = version !== '' || header('mcp-method') !== '' || header('mcp-name') !== '';
  return isMarked ? 'modern' : 'minimal';
}

const modernKeys: ReadonlySet<string> = new Set(
  ['protocolVersion', 'clientCapabilities', 'clientInfo'].map((key) => metaPrefix + key),
);

/** The first rule that the headers and the body of a modern request break; null when they break none. */
export function revisionFault(header: HeaderOf, { method, params }: Message): RpcFault | null {
  const version = header('mcp-protocol-version').trim();
  if (version === '') return mismatch('MCP-Protocol-Version is missing.');
  const meta = metaOf(params);
  const named = meta[`${metaPrefix}protocolVersion`];
  if (typeof named !== 'string') {
    return missing(`params._meta lacks ${metaPrefix}protocolVersion.`);
  }
  if (!isObject(meta[`${metaPrefix}clientCapabilities`])) {
    return missing(`params._meta lacks ${metaPrefix}clientCapabilities.`);
  }
  if (named !== version) {
    return mismatch('MCP-Protocol-Version and params._meta name different versions.');
  }
  if (version !== currentRevision) {
    return {
      code: mcpCodes.unsupportedVersion,
      message: `This server speaks ${currentRevision}.`,
      data: { supported: [currentRevision], requested: version },
    };
  }
  return header('mcp-method').trim() === method
    ? null
    : mismatch('Mcp-Method must be the method of the body.');
}

/** The same check for `Mcp-Name`, which tool calls carry. */
export function nameFault(header: HeaderOf, name: string): RpcFault | null {
  return decodeHeaderValue(header('mcp-name').trim()) === name
    ? null
    : mismatch('Mcp-Name must be params.name.');
}

/** The capabilities that a tool needs and its client did not declare; null when there are none. */
export function capabilityFault(
  params: RpcParams,
  needed: Readonly<Record<string, object>>,
): RpcFault | null {
  const declared = metaOf(params)[`${metaPrefix}clientCapabilities`];
  const lacking = Object.entries(needed).filter(
    ([name]) => !isObject(declared) || !Object.hasOwn(declared, name),
  );
  if (lacking.length === 0) return null;
  return {
    code: mcpCodes.capabilityRequired,
    message: `The tool needs of its client: ${lacking.map(([name]) => name).join(', ')}.`,
    data: { requiredCapabilities: Object.fromEntries(lacking) },
  };
}

/** The client's own name and version, cut; null when it gives none. */
export function clientOf(params: RpcParams): ClientInfo | null {
  const info = metaOf(params)[`${metaPrefix}clientInfo`] ?? params['clientInfo'];
  if (!isObject(info) || typeof info['name'] !== 'string') return null;
  const version = typeof info['version'] === 'string' ? info['version'] : '';
  return { name: info['name'].slice(0, 200), version: version.slice(0, 100) };
}

export function metaOf(params: RpcParams): Readonly<Record<string, unknown>> {
  const meta = params['_meta'];
  return isObject(meta) ? meta : {};
}

export function mismatch(message: string): RpcFault {
  return { code: mcpCodes.headerMismatch, message };
}

function missing(message: string): RpcFault {
  return { code: rpcCodes.invalidParams, message };
}
