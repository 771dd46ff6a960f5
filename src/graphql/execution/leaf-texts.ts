/** Owns the JSON of scalars and enums, written as graphql-js and JSON.stringify together would. */
import { type GraphQLLeafType, isEnumType } from 'graphql';

/** What a writer refuses: graphql-js answers it. */
export class Unclear extends Error {}

/** Writes a value that is not null. Throws what the type throws, and `Unclear` for what has no JSON. */
export function leafWriter(type: GraphQLLeafType): (value: unknown) => string {
  if (isEnumType(type)) {
    const names = new Map(
      type.getValues().map(({ name, value }) => [value as unknown, `"${name}"`]),
    );
    return (value) => names.get(value) ?? textOf(type.serialize(value));
  }
  const write = (value: unknown): string => {
    if (value instanceof Error || value instanceof Promise || typeof value === 'function') {
      throw new Unclear();
    }
    return textOf(type.serialize(value));
  };
  if (type.name !== 'String' && type.name !== 'ID') return write;
  return (value) => (typeof value === 'string' ? JSON.stringify(value) : write(value));
}

function textOf(value: unknown): string {
  const text = value == null ? undefined : JSON.stringify(value);
  if (text === undefined) throw new Unclear();
  return text;
}
