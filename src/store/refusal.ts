/** Owns the error of a store that must not be opened, or of a copy that must not be made. */

/** `message` is one clear sentence for the operator; it names the directory and the way out. */
export class StoreRefusal extends Error {
  override readonly name = 'StoreRefusal';
}
