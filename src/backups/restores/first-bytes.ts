/** Owns a look at the first bytes of an artifact, which tell its kind. */

/** So many bytes, or all when there are fewer; then the whole again. */
export async function firstBytes(
  bytes: AsyncIterable<Uint8Array>,
  count: number,
): Promise<{ first: Buffer; whole: AsyncIterable<Uint8Array> }> {
  const iterator = bytes[Symbol.asyncIterator]();
  let first: Buffer = Buffer.alloc(0);
  let isDone = false;
  while (first.length < count && !isDone) {
    const next = await iterator.next();
    isDone = next.done === true;
    if (next.done !== true) first = Buffer.concat([first, next.value]);
  }
  async function* whole(): AsyncGenerator<Uint8Array> {
    if (first.length > 0) yield first;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  return { first, whole: whole() };
}
