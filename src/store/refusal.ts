/** Owns the reasons for which a store does not open; each is one sentence for the operator. */

/** Opening is refused; `message` is one clear sentence that names the directory and the way out. */
export class StoreRefusal extends Error {
  override readonly name = 'StoreRefusal';
}
