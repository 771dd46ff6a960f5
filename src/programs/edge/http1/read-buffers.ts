/**
 * Owns the memory that apps' answers are read into. There is no new one for each read.
 *
 * 1. All connections share a small one. What is read into it is copied before anything else is read.
 * 2. A connection that brings much has a large one of its own meanwhile.
 */
import { copiedMax } from './outlet.ts';

const largeBytes = 64 * 1024;
const sparesMax = 16;

export const sharedBuffer: Buffer = Buffer.allocUnsafeSlow(copiedMax);

const spares: Buffer[] = [];

export function takeLarge(): Buffer {
  return spares.pop() ?? Buffer.allocUnsafeSlow(largeBytes);
}

/** Nobody reads it any more. */
export function giveLarge(buffer: Buffer): void {
  if (spares.length < sparesMax) spares.push(buffer);
}
