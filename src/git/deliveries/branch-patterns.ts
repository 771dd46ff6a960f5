/** Owns which branches a list of patterns names. */

/** `*` stands for any characters, slashes too. */
export function namesBranch(patterns: readonly string[], branch: string): boolean {
  return patterns.some((pattern) => isLike(branch, pattern));
}

/** Takes as long as the product of both lengths, at most. */
function isLike(text: string, pattern: string): boolean {
  const [first = '', ...parts] = pattern.split('*');
  const last = parts.pop();
  if (last === undefined) return text === pattern;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  const end = text.length - last.length;
  let at = first.length;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return at <= end;
}
