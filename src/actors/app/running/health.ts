/**
 * Owns the check whether a new instance is healthy. Its own process must listen on its port, and accept a
 * connection or answer `healthPath` with 2xx-3xx, within a time.
 */
import { request } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Driver } from '../../../drivers/driver.ts';
import type { Listener } from '../../../lib/processes/listening-sockets.ts';
import type { Exit, Workload } from '../../../protocol/workload.ts';
import type { Place as ServerPlace } from '../../../places/place.ts';
import { type Clock, pause } from '../../../lib/clock.ts';
import { describeExit, endOf } from '../../workload/ends.ts';

export interface Target {
  workload: string;
  host: string;
  port: number;
  /** Null: an accepted connection is enough. */
  path: string | null;
  hostHeader: string;
}

/** Null when the instance is well, else what was seen, as the end of a sentence. */
export type Check = (target: Target, signal: AbortSignal) => Promise<string | null>;

export type Health =
  | { kind: 'healthy'; found: { host: string; port: number; startedAtMs: number } }
  /** Another process listens on the port. */
  | { kind: 'foreign' }
  | { kind: 'failed'; reason: string };

export interface HealthGateOptions {
  driver: Driver;
  clock: Clock;
  check: Check;
  workloadId: string;
  port: number;
  /** The port as the app knows it. */
  shownPort: number;
  path: string | null;
  hostHeader: string;
  timeoutMs: number;
  /** Called once, when the app has listened elsewhere for a while. */
  say: (line: string) => void;
  signal: AbortSignal;
}

// "localhost" is ::1 to some programs.
const hosts = ['127.0.0.1', '::1'] as const;
const firstDelayMs = 50;
const lastDelayMs = 500;
const checkTimeoutMs = 5000;
/** After this time an app that listens elsewhere is told so. It may still open the right port later. */
const elsewhereMs = 10_000;
/** The most places that the message names. */
const shownMax = 4;
const goneApp = 'The app is gone: the driver does not know it any more.';

/** Resolves once the health is decided. Rejects when `signal` aborts or the driver cannot be reached. */
export async function awaitHealth(options: HealthGateOptions): Promise<Health> {
  const { driver, clock, workloadId, timeoutMs, signal } = options;
  const beganAtMs = clock.now();
  const deadlineMs = beganAtMs + timeoutMs;
  const elsewhere = new Elsewhere(options, Math.min(beganAtMs + elsewhereMs, deadlineMs));
  let wrongAnswer: string | null = null;
  for (let delayMs = firstDelayMs; ; delayMs = Math.min(delayMs * 1.5, lastDelayMs)) {
    signal.throwIfAborted();
    const workload = await driver.inspect(workloadId);
    const ended = endOf(workload, goneApp, beforeHealthy);
    if (ended !== null) {
      const isTaken = neverStarted(workload) && (await driver.probe(workloadId)) === 'foreign';
      return isTaken ? { kind: 'foreign' } : { kind: 'failed', reason: ended };
    }
    const probe = await driver.probe(workloadId);
    if (probe === 'foreign') return { kind: 'foreign' };
    if (probe === 'listening') {
      const places = placesOf(workload, options.port);
      for (const place of places) {
        const wrong = await checkOnce(options, place);
        if (wrong === null) {
          const state = workload?.state;
          const startedAtMs = state?.phase === 'running' ? state.startedAtMs : clock.now();
          return { kind: 'healthy', found: { ...place, startedAtMs } };
        }
        if (place === places[0]) wrongAnswer = wrong;
      }
    }
    const isOver = clock.now() >= deadlineMs;
    if (wrongAnswer === null) await elsewhere.look();
    if (isOver) {
      const seconds = String(Math.round(timeoutMs / 1000));
      const seen = wrongAnswer ?? elsewhere.seen;
      return { kind: 'failed', reason: `The app was not healthy within ${seconds} s: ${seen}.` };
    }
    await pause(clock, delayMs, signal);
  }
}

type Place = Pick<Target, 'host' | 'port'>;

function placesOf(workload: Workload | undefined, port: number): Place[] {
  return workload?.address ? [workload.address] : hosts.map((host) => ({ host, port }));
}

function checkOnce(options: HealthGateOptions, place: Place): Promise<string | null> {
  const { workloadId: workload, path, hostHeader } = options;
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(checkTimeoutMs)]);
  return options.check({ workload, ...place, path, hostHeader }, signal);
}

function neverStarted(workload: Workload | undefined): boolean {
  return workload?.state.phase === 'ended' && workload.state.exit.reason === 'failed_to_start';
}

export function beforeHealthy(exit: Exit): string {
  return describeExit(exit, 'The app', ' before it was healthy');
}

/** Checks over connections to the place where it runs. */
export function checkAt({ connect }: Pick<ServerPlace, 'connect'>): Check {
  return async ({ workload, host, port, path, hostHeader }, signal) => {
    const socket = await connect({ workload, host, port }, signal).catch(() => null);
    if (path === null) {
      socket?.destroy();
      return socket === null ? 'no connection was accepted on its port' : null;
    }
    if (socket === null) return `GET ${path} got no answer`;
    return await askFor(path, { socket, hostHeader, signal }).finally(() => socket.destroy());
  };
}

interface Asking {
  socket: Duplex;
  hostHeader: string;
  signal: AbortSignal;
}

function askFor(path: string, { socket, hostHeader, signal }: Asking): Promise<string | null> {
  return new Promise((resolve) => {
    const headers = { host: hostHeader, connection: 'close', 'user-agent': 'gangway-health' };
    const createConnection = (): Duplex => socket;
    const asking = request({ createConnection, path, headers, signal }, (response) => {
      const status = response.statusCode ?? 0;
      response.destroy();
      resolve(status >= 200 && status < 400 ? null : `GET ${path} answered ${String(status)}`);
    });
    asking.once('error', () => resolve(`GET ${path} got no answer`));
    asking.end();
  });
}

/**
 * Owns the line in a deployment's log that says where an app listens, if not on its PORT. The app is not
 * ended for that: a slow app may open a port for metrics or a debugger first, which looks the same from
 * outside.
 */
class Elsewhere {
  readonly #options: HealthGateOptions;
  readonly #fromMs: number;
  #told = false;
  /** Why nothing was reached, as the end of a sentence. */
  seen: string;

  /** Nothing is looked at before `fromMs`. */
  constructor(options: HealthGateOptions, fromMs: number) {
    this.#options = options;
    this.#fromMs = fromMs;
    // Nobody outside a container reaches a program that listens on loopback only.
    const where = options.driver.runs === 'image' ? ' at 0.0.0.0' : '';
    this.seen = `nothing listened on its port ${String(options.shownPort)}${where} (the variable PORT)`;
  }

  async look(): Promise<void> {
    const { driver, clock, workloadId, shownPort, say } = this.#options;
    if (this.#told || clock.now() < this.#fromMs) return;
    const found = describeListeners(await driver.listeners(workloadId), shownPort, driver.runs);
    if (found === null) return;
    this.#told = true;
    this.seen = found;
    say(`${found.charAt(0).toUpperCase()}${found.slice(1)}.`);
  }
}

/** The end of a sentence; null when the app listens nowhere. */
export function describeListeners(
  listeners: readonly Listener[],
  shownPort: number,
  runs: Driver['runs'],
): string | null {
  const [onPort] = listeners.filter(({ port }) => port === shownPort);
  if (onPort !== undefined) {
    return runs === 'image'
      ? `it listens on ${textOf(onPort)} alone, which is not reached from outside its container; it has to listen on 0.0.0.0`
      : `it listens on ${textOf(onPort)}, not on 127.0.0.1`;
  }
  const ports = [...new Set(listeners.map(({ port }) => port))].sort((a, b) => a - b);
  if (ports.length === 0) return null;
  const shown = ports.slice(0, shownMax).map((port) => {
    const places = listeners.filter((one) => one.port === port).map(textOf);
    return `${String(port)} (${[...new Set(places)].join(', ')})`;
  });
  const more = ports.length > shownMax ? ` and ${String(ports.length - shownMax)} more` : '';
  const word = ports.length === 1 ? 'port' : 'ports';
  return `it listens on ${word} ${shown.join(', ')}${more}, not on PORT ${String(shownPort)}`;
}

function textOf({ address, port }: Listener): string {
  return `${address.includes(':') ? `[${address}]` : address}:${String(port)}`;
}
