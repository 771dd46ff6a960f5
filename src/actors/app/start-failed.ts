/** Owns why a release did not start; its message is for people. */

export class StartFailed extends Error {
  override readonly name = 'StartFailed';
}
