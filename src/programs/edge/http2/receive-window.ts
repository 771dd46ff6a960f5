/**
 * Owns how much of bodies may come over a session (RFC 9113, 6.9). What was taken is given back by halves of a window.
 */
import { windowFrame } from './frames.ts';
import type { Sender } from './sender.ts';

/** Of each stream, and of all. What an app does not take is held here meanwhile. */
export const [streamWindow, sessionWindow] = [256 * 1024, 1024 * 1024];

/** How much may come still, and how much more the client is to be told. */
export interface Receives {
  window: number;
  owed: number;
}

/** Some of it is not held any more. `stream`: 0 is the connection. */
export function giveBack(
  receives: Receives,
  bytes: number,
  { stream, most, sender }: { stream: number; most: number; sender: Sender },
): void {
  receives.owed += bytes;
  if (receives.owed < most / 2) return;
  receives.window += receives.owed;
  sender.control(windowFrame(stream, receives.owed));
  receives.owed = 0;
}
