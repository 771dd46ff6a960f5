/**
 * Owns how calls and streams cross the link: HTTP/2 on two connections that the agent dials, with the control plane
 * as its client.
 *
 * - `POST /hello`: the first on each connection, with what both ends are.
 * - `POST /call/<name>`, and an answer that is `{ ok }` or `{ error }`.
 * - `POST /stream/<name>` with the head in a header: bytes both ways once it is answered with 200, else `{ error }`.
 * - `POST /told`: open as long as the connection. The agent sends frames (`ToldFrame`), and hears answers.
 * - `POST /goodbye`: why it is not let in. The connection ends with it.
 */
import type { PlainServiceError } from '../lib/errors.ts';
import { type Lane } from './agent-link.ts';

/** What the agent asks for as it dials (SNI): by it the lanes are told apart. */
export const laneHosts: Readonly<Record<Lane, string>> = {
  control: 'control.gangway.internal',
  bulk: 'bulk.gangway.internal',
};

export const agentPaths = {
  hello: '/hello',
  goodbye: '/goodbye',
  told: '/told',
  call: '/call/',
  stream: '/stream/',
} as const;

/** Plain CBOR in base64url. */
export const headHeader = 'gangway-head';

export interface LaneWindows {
  /** Of one stream: what its reader may leave unread. */
  stream: number;
  /** Of all streams of a connection together, as the line takes it (`lib/http2-window.ts`). */
  connection: { min: number; start: number; max: number };
}

const [kibibyte, mebibyte] = [1024, 1024 * 1024];

/**
 * What may be under way to a side. A round trip of 200 ms leaves each stream of `bulk` 10 MB/s, and all of them
 * together 40 MB/s; `control` 5 MB/s. On 1 Mbit/s a full window of `control` is half a second.
 */
export const laneWindows: Readonly<Record<Lane, LaneWindows>> = {
  control: {
    stream: mebibyte,
    connection: { min: 64 * kibibyte, start: 256 * kibibyte, max: mebibyte },
  },
  bulk: {
    stream: 2 * mebibyte,
    connection: { min: 128 * kibibyte, start: mebibyte, max: 8 * mebibyte },
  },
};

/**
 * Calls and streams of a connection at once: those of our own work, and those of visitors beside them. Of each a window is
 * held where its reader does not come along.
 */
export interface UnderWay {
  own: number;
  visitors: number;
}

export const underWayMax: Readonly<Record<Lane, UnderWay>> = {
  control: { own: 1000, visitors: 0 },
  bulk: { own: 200, visitors: 400 },
};

/** How many an agent takes: what is over for who asks may not be yet for who answers. */
export function takenMax(lane: Lane): number {
  const { own, visitors } = underWayMax[lane];
  return 2 * (own + visitors);
}

/** From the control plane. */
export interface Hello {
  version: string;
  serverId: string;
  /** The agent's own clock may be wrong. */
  nowMs: number;
}

export interface HelloAnswer {
  version: string;
  /** Made anew by each process of an agent: its two connections have the same. */
  run: string;
  /** Of the machine, as it calls itself. */
  host: string;
}

/** `revoked`: the certificate is good for nothing any more. The others may pass; what an agent does not know is `draining`. */
export const goodbyeReasons = ['revoked', 'expired', 'version', 'draining', 'replaced'] as const;
export type GoodbyeReason = (typeof goodbyeReasons)[number];

export interface Goodbye {
  reason: GoodbyeReason;
  /** For people. */
  sentence: string;
}

export type CallAnswer = { ok: unknown } | { error: PlainServiceError };

/** From the agent; `n` of a question is answered with a `ToldAnswer`. */
export interface ToldFrame {
  name: string;
  message: unknown;
  n?: number;
}

export type ToldAnswer = { re: number } & CallAnswer;

/** Of what an agent tells or asks. */
export const toldBytesMax = 64 * 1024;

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
