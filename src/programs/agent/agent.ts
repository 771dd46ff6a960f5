/**
 * Owns the life of an agent: who it is, its two connections, and what it serves.
 *
 * 1. One agent a data directory.
 * 2. What runs here is the runner's: it goes on when the agent ends, however it ends.
 * 3. It ends when it is told to, and when its certificate was revoked; then it says what to do.
 */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { systemClock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { createFileWhole } from '../../lib/whole-file.ts';
import type { AgentServices } from '../../protocol/agent-link.ts';
import type { Goodbye } from '../../protocol/agent-wire.ts';
import { bootstrapTokenHash } from '../../protocol/bootstrap-token.ts';
import type { EdgeSettings } from '../../protocol/runner-messages.ts';
import { instanceOf } from '../runner/instance.ts';
import { takeLock } from '../runner/lock.ts';
import { bootstrap, BootstrapRefused } from './bootstrap.ts';
import { type Identity, readIdentity, storeIdentity } from './identity.ts';
import { Dialer } from './link/dialer.ts';
import { Voice } from './link/voice.ts';
import { Renewal } from './renewal.ts';
import { placeServices } from './place-services.ts';
import { RunnerServices } from './runner-services.ts';

export interface AgentOptions {
  /** Absolute. */
  dataDir: string;
  /** Of the panel; null: where the agent was before. */
  controlUrl: string | null;
  /** Null: there is none. */
  token: string | null;
  /** Of the machine. */
  name: string;
  version: string;
  edge: EdgeSettings;
  logger: Logger;
  /** Ends it. */
  signal: AbortSignal;
}

/** Why an agent cannot go on, as a sentence for people. */
export class AgentEnd extends Error {
  /** Whether another bootstrap token is needed. */
  readonly needsToken: boolean;

  constructor(sentence: string, needsToken: boolean) {
    super(sentence);
    this.name = 'AgentEnd';
    this.needsToken = needsToken;
  }
}

const anotherToken =
  'An administrator gets another command for this server with reissueServerBootstrap, or on the page of the instance.';

/** Resolves when `signal` has ended it. Rejects with AgentEnd. */
export async function runAgent(options: AgentOptions): Promise<void> {
  const { dataDir } = options;
  fs.mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  const own = path.join(dataDir, 'agent');
  fs.mkdirSync(own, { recursive: true, mode: 0o700 });
  if (!takeLock(path.join(own, 'lock'), instanceOf(own))) {
    throw new AgentEnd(`Another agent runs in ${dataDir}.`, false);
  }
  const identity = await identityOf(own, options);
  if (identity === null) return; // It was told to end meanwhile.
  const { edge, logger } = options;
  const runner = new RunnerServices({ dataDir, edge, logger, runnerKey: runnerKeyIn(own) });
  const place = await placeServices({ dataDir, driver: runner.driver, logger });
  const running = new RunningAgent(own, { identity, runner, place }, options);
  try {
    running.start();
    await running.over;
  } finally {
    await running.close();
  }
}

/** Null once the signal has aborted. */
async function identityOf(own: string, options: AgentOptions): Promise<Identity | null> {
  const { token, controlUrl, name, version, logger, signal } = options;
  const known = readIdentity(own);
  if (token === null || known?.tokenHash === bootstrapTokenHash(token)) {
    if (known !== null) return moved(known, controlUrl);
    const sentence = `This agent has no certificate yet: it needs --token-file. ${anotherToken}`;
    throw new AgentEnd(sentence, true);
  }
  if (controlUrl === null) throw new AgentEnd('A token needs --control.', false);
  try {
    const clock = systemClock;
    const fresh = await bootstrap({ controlUrl, token, name, version, clock, logger, signal });
    storeIdentity(own, fresh);
    logger.info({ server: fresh.serverId }, 'agent_bootstrapped');
    return fresh;
  } catch (error) {
    if (signal.aborted) return null;
    if (!(error instanceof BootstrapRefused)) throw error;
    // Such as one that was used up by an agent that lost the answer, or by the one that is here.
    logger.warn({ detail: error.message }, 'bootstrap_refused');
    if (known !== null) return moved(known, controlUrl);
    throw new AgentEnd(error.message, error.needsToken);
  }
}

/** The panel may have another address than at the bootstrap. */
function moved(known: Identity, controlUrl: string | null): Identity {
  if (controlUrl === null || controlUrl === known.controlUrl) return known;
  const host = new URL(controlUrl).hostname.replace(/^\[|\]$/g, '');
  return { ...known, control: { ...known.control, host } };
}

interface AgentParts {
  identity: Identity;
  runner: RunnerServices;
  place: AgentServices;
}

class RunningAgent {
  /** Rejects with AgentEnd when it cannot go on. */
  readonly over: Promise<void>;
  readonly #options: AgentOptions;
  readonly #over = Promise.withResolvers<undefined>();
  readonly #dialers: readonly Dialer[];
  readonly #renewal: Renewal;
  readonly #runner: RunnerServices;
  #identity: Identity;

  constructor(own: string, { identity, runner, place }: AgentParts, options: AgentOptions) {
    const { logger, version, signal } = options;
    this.#options = options;
    this.#identity = identity;
    this.over = this.#over.promise;
    this.over.catch(() => undefined); // Whoever waits for it hears.
    signal.addEventListener('abort', () => this.#over.resolve(undefined), { once: true });
    this.#runner = runner;
    const services = together(runner, place);
    const voice = new Voice(() => this.#renewal.look());
    this.#renewal = new Renewal({
      ...{ identity: () => this.#identity, ask: voice.ask, clock: systemClock, logger },
      store: (fresh) => {
        storeIdentity(own, fresh);
        this.#identity = fresh;
      },
    });
    const run = randomBytes(16).toString('hex');
    this.#dialers = (['control', 'bulk'] as const).map(
      (lane) =>
        new Dialer({
          ...{ lane, ...identity.control, services, voice, logger },
          clock: systemClock,
          answer: { version, run, host: os.hostname() },
          credentials: () => this.#identity,
          onHello: ({ nowMs, version: theirs }) => {
            logger.info({ lane, control: identity.control.host, theirs }, 'agent_connected');
            this.#renewal.connected(nowMs);
          },
          onGoodbye: (goodbye, certificate) => this.#hear(goodbye, certificate),
        }),
    );
  }

  start(): void {
    const { logger, signal } = this.#options;
    for (const dialer of this.#dialers) dialer.start();
    this.#runner.start().catch((err: unknown) => {
      // It is started when somebody asks for it.
      logger.error({ err }, 'runner_not_reached');
    });
    if (signal.aborted) this.#over.resolve(undefined);
  }

  async close(): Promise<void> {
    this.#renewal.close();
    await Promise.all(this.#dialers.map((dialer) => dialer.close()));
    await this.#runner.close();
  }

  #hear({ reason, sentence }: Goodbye, certificate: string): void {
    this.#options.logger.warn({ reason, detail: sentence }, 'agent_sent_away');
    // A connection outlives the renewal of its certificate: the next one is made with what is good now.
    if (reason !== 'revoked' || certificate !== this.#identity.certificate) return;
    const detail = `${sentence} What runs here goes on. ${anotherToken}`;
    this.#over.reject(new AgentEnd(detail, true));
  }
}

function together(one: AgentServices, other: AgentServices): AgentServices {
  return {
    calls: { ...one.calls, ...other.calls },
    streams: { ...one.streams, ...other.streams },
  };
}

/** What the runner encrypts the variables of workloads with on disk: this machine's alone. */
function runnerKeyIn(own: string): Uint8Array {
  const file = path.join(own, 'runner.key');
  createFileWhole(file, randomBytes(32).toString('hex'));
  const key = Buffer.from(fs.readFileSync(file, 'utf8'), 'hex');
  if (key.length !== 32) throw new Error(`Cannot use ${file}: it holds no key of 32 bytes`);
  return key;
}
