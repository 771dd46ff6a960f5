/** Owns what a restorer is to the rest of the program. */

/** The way back of one target. */
export interface Restorer {
  /**
   * Receives the bytes (already gunzipped and checked by its caller), tells lines of a log, puts the target in
   * the new state or back in the old one. Rejects with a ServiceError that says which.
   */
  restore(
    bytes: AsyncIterable<Uint8Array>,
    log: (line: string) => void,
    signal: AbortSignal,
  ): Promise<void>;
}
