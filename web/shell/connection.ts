/** Owns what this tab knows of its connection: whether it reaches the server, and whether it is signed in. */
import { useSyncExternalStore } from 'react';

export interface Connection {
  readonly online: boolean;
  /** The session ended while the page was open. */
  readonly signedOut: boolean;
}

let connection: Connection = { online: true, signedOut: false };
const listeners = new Set<() => void>();

export function setConnection(change: Partial<Connection>): void {
  const next = { ...connection, ...change };
  if (next.online === connection.online && next.signedOut === connection.signedOut) return;
  connection = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useConnection(): Connection {
  return useSyncExternalStore(subscribe, () => connection);
}
