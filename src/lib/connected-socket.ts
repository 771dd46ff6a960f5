/** Owns how a connection that is open already is given to a library that wants to open a socket itself. */
import type { Duplex } from 'node:stream';

const nothing = (): void => undefined;

/** The same stream: `connect` only tells that it is connected. */
export function asSocket(connection: Duplex): Duplex {
  const missing = { setNoDelay: nothing, setKeepAlive: nothing, ref: nothing, unref: nothing };
  for (const [name, value] of Object.entries(missing)) {
    if (!(name in connection)) Object.assign(connection, { [name]: value });
  }
  const connect = (): void => void setImmediate(() => connection.emit('connect'));
  return Object.assign(connection, { connect });
}
