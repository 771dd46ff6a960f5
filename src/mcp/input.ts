/**
 * Owns the arguments of a tool. They are written once, as a zod object, which gives both the JSON Schema of
 * the list and the check of a call.
 *
 * 1. Every tool takes `team`. No tool takes an argument that it does not name.
 */
import * as z from 'zod';
import { isObject } from '../protocol/json-rpc.ts';
import type { JsonSchema, ToolInput } from './tool.ts';

const teamArgument = z.string().optional().describe('Team id or slug.');

/** The arguments of a tool. Only the tool knows `Shape`: `run` gets the arguments that `read` accepted. */
export function toolInput<Shape extends z.ZodRawShape>(shape: Shape): ToolInput {
  const object = z.strictObject({ ...shape, team: teamArgument });
  return {
    schema: schemaOf(object),
    read: (args) => {
      if (isCrowded(args)) return { ok: false, sentence: crowded };
      const read = object.safeParse(withoutNulls(args));
      if (read.success) return { ok: true, value: read.data };
      return { ok: false, sentence: sentenceOf(read.error, Object.keys(object.shape)) };
    },
  };
}

const argumentsMax = 64;
const membersMax = 1_000;
const crowded = `The arguments do not fit: ${argumentsMax} at most, of ${membersMax} members each.`;

/** Whether there are more members than any tool takes; then none of them is checked. */
function isCrowded(args: unknown): boolean {
  if (!isObject(args)) return false;
  const values = Object.values(args);
  if (values.length > argumentsMax) return true;
  return values.some((value) => isObject(value) && Object.keys(value).length > membersMax);
}

/** Some models send null for every argument that they leave out. */
function withoutNulls(args: unknown): unknown {
  if (!isObject(args) || !Object.values(args).includes(null)) return args;
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null));
}

function schemaOf(object: z.ZodObject): JsonSchema {
  return withoutNoise(z.toJSONSchema(object, { io: 'input' })) as JsonSchema;
}

/**
 * Removes what tells a model nothing, such as the dialect and the length of texts, because every list
 * repeats it.
 */
function withoutNoise(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNoise);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== 'maxLength' && name !== '$schema')
      .map(([name, one]) => [name, withoutNoise(one)]),
  );
}

function sentenceOf(error: z.ZodError, names: readonly string[]): string {
  const parts = error.issues.slice(0, 5).map(({ path, message }) => {
    const where = path.join('.').slice(0, 200);
    return where === '' ? message.slice(0, 300) : `${where}: ${message.slice(0, 300)}`;
  });
  const isUnknown = error.issues.some(({ code }) => code === 'unrecognized_keys');
  const known = isUnknown ? ` There are: ${names.join(', ')}.` : '';
  return `The arguments do not fit: ${parts.join('; ')}.${known}`;
}
