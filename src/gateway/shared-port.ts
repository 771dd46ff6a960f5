/** Owns what the gateways of several threads have in common when they listen on one port. */

export interface SharedPort {
  /** Open connections of all of them together, in its first element. */
  readonly sockets: Int32Array;
  /** Called before a request is looked at, on its thread. */
  beforeRequest(): void;
}
