/** Owns the refusal of a compose file; its message names the key and says what is allowed. */

export class ComposeRefused extends Error {
  override readonly name = 'ComposeRefused';
}

/** `services.web.ports[0]` of a path. */
export function placeOf(path: readonly PropertyKey[]): string {
  let place = '';
  for (const part of path) {
    if (typeof part === 'number') place += `[${String(part)}]`;
    else place += `${place === '' ? '' : '.'}${String(part)}`;
  }
  return place === '' ? 'compose' : place;
}
