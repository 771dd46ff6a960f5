/** Owns the bounds of the gateway and their defaults. */
import type { ExchangeLimits } from './http/exchange-host.ts';
import type { BodyLimits } from './http/request-body.ts';

export interface GatewayLimits extends ExchangeLimits, BodyLimits {
  /** Of request line and header fields together; above it 431. */
  headerBytes: number;
  maxSockets: number;
  /** How long `drain` waits. */
  drainMs: number;
}

export const defaultLimits: GatewayLimits = {
  headerBytes: 16 * 1024,
  maxSockets: 50_000,
  idleMs: 60_000,
  minBytesPerS: 1024,
  windowMs: 60_000,
  answerMs: 120_000,
  sendStallMs: 60_000,
  streamStallMs: 30 * 60_000,
  lingerBytes: 1024 ** 3,
  lingerMs: 15_000,
  drainMs: 10_000,
};

/** The shortest bound on time, which says how often time must be checked. */
export function shortestMs(limits: GatewayLimits): number {
  const { idleMs, windowMs, answerMs, sendStallMs, streamStallMs, lingerMs } = limits;
  return Math.min(idleMs, windowMs, answerMs, sendStallMs, streamStallMs, lingerMs);
}
