/**
 * Owns headers that repeat values of the body: `Mcp-Name`, and `Mcp-Param-*` for the arguments whose schema
 * carries `x-mcp-header`. Pure.
 *
 * 1. A value that a header cannot hold comes as `=?base64?…?=` and is decoded strictly. Any other value is
 *    literal.
 * 2. A declared header is present exactly when its argument is. Other headers are ignored.
 */
import { isObject, type RpcFault } from '../protocol/json-rpc.ts';
import type { JsonSchema, ToolArguments } from './tool.ts';

const prefix = '=?base64?';
const suffix = '?=';
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
// A byte order mark is a character of the value like any other.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const decimal = /^-?\d+$/;

/** The value of a header; null when its encoding is broken. */
export function decodeHeaderValue(value: string): string | null {
  const isEncoded =
    value.startsWith(prefix) &&
    value.endsWith(suffix) &&
    value.length >= prefix.length + suffix.length;
  if (!isEncoded) return value;
  const encoded = value.slice(prefix.length, -suffix.length);
  if (!base64.test(encoded)) return null;
  try {
    return utf8.decode(Buffer.from(encoded, 'base64'));
  } catch {
    // The bytes are not UTF-8.
    return null;
  }
}

/** An argument that comes in a header as well. */
export interface HeaderParam {
  /** Lower-case, `mcp-param-…`. */
  header: string;
  /** The place of the argument. */
  path: readonly string[];
}

/** The arguments of a schema that carry `x-mcp-header`, at any depth of `properties`. */
export function headerParamsOf(schema: JsonSchema, path: readonly string[] = []): HeaderParam[] {
  const properties = schema['properties'];
  if (!isObject(properties)) return [];
  return Object.entries(properties).flatMap(([name, property]) => {
    if (!isObject(property)) return [];
    const here = [...path, name];
    const given = property['x-mcp-header'];
    const own =
      typeof given === 'string' ? [{ header: `mcp-param-${given.toLowerCase()}`, path: here }] : [];
    return [...own, ...headerParamsOf(property, here)];
  });
}

/** The first header that differs from its argument; null when there is none. */
export function paramFault(
  header: (name: string) => string,
  params: readonly HeaderParam[],
  args: ToolArguments,
  code: number,
): RpcFault | null {
  for (const { header: name, path } of params) {
    if (!agrees(header(name).trim(), valueAt(args, path))) {
      return { code, message: `${name} must be the argument ${path.join('.')}.` };
    }
  }
  return null;
}

function agrees(header: string, value: unknown): boolean {
  if (value === undefined || value === null) return header === '';
  const decoded = decodeHeaderValue(header);
  if (decoded === null || header === '') return false;
  if (typeof value === 'number') return decimal.test(decoded) && Number(decoded) === value;
  return decoded === (typeof value === 'boolean' ? String(value) : value);
}

function valueAt(args: ToolArguments, path: readonly string[]): unknown {
  let value: unknown = args;
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}
