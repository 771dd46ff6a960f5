/**
 * Owns the access logs of apps until somebody has stored them elsewhere, each as the log of a workload is kept.
 *
 * 1. They have ids that no workload has (`accessLogOf`). That of an app is there as soon as anybody reads it.
 * 2. Numbers of entries ascend even when all of a log is lost: a new one begins with the time.
 * 3. They take nothing but lines of apps that routes lead to.
 */
import fs from 'node:fs';
import path from 'node:path';

import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import { accessLogOf, appOfAccessLog } from '../../../protocol/workload.ts';
import { FairTurns } from '../fair-turns.ts';
import { Output } from '../output.ts';

const mebibyte = 1024 * 1024;
const limits = {
  maxBytes: 16 * mebibyte,
  fileBytes: 256 * 1024,
  lineIdleMs: 100,
  holdBytes: Infinity,
  releaseBytes: Infinity,
  followerStallMs: 30_000,
};
/** Of one message about one app; more is no edge of ours. */
const textMax = mebibyte;

export class AccessLogs {
  readonly #dir: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #turns: FairTurns;
  readonly #outputs = new Map<string, Output>();

  constructor(stateDir: string, clock: Clock, logger: Logger) {
    this.#dir = path.join(stateDir, 'access');
    this.#clock = clock;
    this.#logger = logger;
    this.#turns = new FairTurns(clock, logger);
  }

  /** Takes what an edge told. `isRouted`: whether a route leads to the app. */
  hear(told: readonly unknown[], isRouted: (app: string) => boolean): void {
    for (const lines of told) {
      const [app, text] = Array.isArray(lines) ? (lines as unknown[]) : [];
      if (typeof app !== 'string' || typeof text !== 'string' || !isRouted(app)) continue;
      this.output(accessLogOf(app))?.write(Buffer.from(text.slice(0, textMax)), 'access');
    }
  }

  /** Undefined for an id that is no access log's. */
  output(id: string): Output | undefined {
    const app = appOfAccessLog(id);
    if (app === undefined) return undefined;
    return this.#outputs.get(app) ?? this.#open(app);
  }

  /** The app is gone for good. */
  forget(app: string): void {
    this.#outputs.get(app)?.close();
    this.#outputs.delete(app);
    if (appOfAccessLog(accessLogOf(app)) !== undefined) {
      fs.rmSync(path.join(this.#dir, app), { recursive: true, force: true });
    }
  }

  close(): void {
    for (const output of this.#outputs.values()) output.close();
    this.#outputs.clear();
  }

  #open(app: string): Output {
    const place = { dir: path.join(this.#dir, app), firstSeq: this.#clock.now() * 1000 };
    const output = new Output({ ...limits, ...place }, this.#clock, this.#logger, this.#turns);
    this.#outputs.set(app, output);
    return output;
  }
}
