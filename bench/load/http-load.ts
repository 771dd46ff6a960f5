/** Owns what closed-loop load over HTTP is, and what a program that makes it reports. */
import type { LatencyMs } from '../model.ts';

export interface HttpLoad {
  path: string;
  method?: 'GET' | 'POST';
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** Sent in turn instead of `body`; their answers are of about one size. */
  bodies?: readonly string[];
  /** Of one answer, head and body. */
  answerBytes?: number;
  /** Of these, the head: for load that tells the bytes of bodies alone. */
  headBytes?: number;
  connections: number;
  seconds: number;
}

export interface RawResult {
  requests: number;
  seconds: number;
  latency: LatencyMs;
  bytes: number;
  errors: number;
}
