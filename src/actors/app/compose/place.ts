/** Owns how a place in a compose file is named to people. */

/** `services.web.ports[0]` of a path. */
export function placeOf(path: readonly PropertyKey[]): string {
  let place = '';
  for (const part of path) {
    if (typeof part === 'number') place += `[${String(part)}]`;
    else place += `${place === '' ? '' : '.'}${String(part)}`;
  }
  return place === '' ? 'compose' : place;
}
