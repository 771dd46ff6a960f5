/**
 * Owns what the agent says by itself: what it tells, which nobody answers, and what it asks the control plane.
 * What it tells while it is not connected is dropped; a question fails then, and when the connection is lost.
 */
import type { Duplex } from 'node:stream';

import { ServiceError } from '../../../lib/errors.ts';
import { isRecord, type ToldFrame } from '../../../protocol/agent-wire.ts';
import { foreignError } from '../../../protocol/foreign-error.ts';
import { encodeFrame, FrameDecoder } from '../../../protocol/message-frames.ts';

interface Question {
  resolve: (answer: unknown) => void;
  reject: (error: Error) => void;
}

/** What may wait to be sent: it is small, and told seldom. */
const unsentMax = 256 * 1024;

export class Voice {
  readonly #onHeard: () => void;
  readonly #questions = new Map<number, Question>();
  #stream: Duplex | null = null;
  #lastNumber = 0;

  /** `onHeard`: from then on there is somebody to ask. */
  constructor(onHeard: () => void = () => undefined) {
    this.#onHeard = onHeard;
  }

  /** From now on, instead of what was there. */
  speakBy(stream: Duplex): void {
    this.#stream?.destroy();
    this.#fail();
    this.#stream = stream;
    const decoder = new FrameDecoder();
    stream.on('data', (chunk: Buffer) => {
      try {
        for (const frame of decoder.push(chunk)) this.#hear(frame);
      } catch {
        stream.destroy(); // It is no answer of ours: the connection is lost with it.
      }
    });
    stream.on('error', () => undefined); // 'close' follows.
    stream.once('close', () => {
      if (this.#stream !== stream) return;
      this.#stream = null;
      this.#fail();
    });
    this.#onHeard();
  }

  readonly tell = (name: string, message: unknown): void => {
    const stream = this.#stream;
    if (stream === null || stream.writableLength > unsentMax) return;
    stream.write(encodeFrame({ name, message } satisfies ToldFrame));
  };

  /** Rejects as the control plane does, or with AGENT_UNREACHABLE. */
  readonly ask = (name: string, message: unknown): Promise<unknown> => {
    const stream = this.#stream;
    if (stream === null) return Promise.reject(notConnected());
    const n = (this.#lastNumber += 1);
    return new Promise((resolve, reject) => {
      this.#questions.set(n, { resolve, reject });
      stream.write(encodeFrame({ name, message, n } satisfies ToldFrame));
    });
  };

  #hear(frame: unknown): void {
    const { re, ok, error } = isRecord(frame) ? frame : {};
    const question = typeof re === 'number' ? this.#questions.get(re) : undefined;
    if (question === undefined) return;
    this.#questions.delete(re as number);
    if (error === undefined) question.resolve(ok);
    else question.reject(foreignError(error));
  }

  #fail(): void {
    const left = [...this.#questions.values()];
    this.#questions.clear();
    for (const { reject } of left) reject(notConnected());
  }
}

function notConnected(): ServiceError {
  return new ServiceError('AGENT_UNREACHABLE', 'The agent is not connected to Gangway.');
}
