/** Owns what the daemon's view of a container means as the state of a workload. */
import os from 'node:os';

import type { Exit, WorkloadState } from '../../../protocol/workload.ts';
import type { KnownSpec } from '../engine/names.ts';
import type { EndNote } from './end-notes.ts';

/** The part of an inspection's answer that is used. */
export interface ContainerView {
  Id: string;
  RestartCount: number;
  State: {
    Status: string;
    Running: boolean;
    OOMKilled: boolean;
    Pid: number;
    ExitCode: number;
    Error: string;
    StartedAt: string;
    FinishedAt: string;
    Health?: { Status: string } | null;
  };
  Config: { Labels: Record<string, string> | null; OpenStdin: boolean; Tty: boolean };
  HostConfig: { Memory?: number; Init?: boolean | null };
  NetworkSettings: { Networks: Record<string, { IPAddress?: string }> | null };
}

type Running = Extract<WorkloadState, { phase: 'running' }>;

/**
 * How long Docker waits between two starts: twice as long each time, and from the beginning after a
 * good run.
 */
const backoff = { firstMs: 100, maxMs: 60_000, goodRunMs: 10_000 };
const signalBase = 128;

/** Whether the container ran before its present run. */
export function ranBefore({ State: state }: ContainerView): boolean {
  return !state.FinishedAt.startsWith('0001');
}

/** The exit of an earlier run, of which the daemon keeps only the time. */
export function unknownExit({ State: state }: ContainerView): Exit {
  const atMs = Date.parse(state.FinishedAt);
  return { code: null, signal: null, reason: 'exited', detail: null, atMs };
}

/** Undefined for a container that was made and not yet started: there is no workload yet. */
export function stateOf(
  view: ContainerView,
  spec: KnownSpec,
  note: EndNote | undefined,
  lastExit?: Exit,
): WorkloadState | undefined {
  const { State: state, RestartCount: restarts } = view;
  // The daemon may still be at its next start when the last one is known to be in vain.
  if (note?.failed) return { phase: 'ended', exit: note.failed };
  switch (state.Status) {
    case 'created':
      if (state.Error === '') return undefined;
      return { phase: 'ended', exit: failedExit(sentenceOf(state.Error), note?.atMs ?? 0) };
    case 'running':
    case 'paused':
      return {
        phase: 'running',
        startedAtMs: Date.parse(state.StartedAt),
        restarts,
        ...(lastExit && { lastExit }),
        ...healthOf(state.Health?.Status),
      };
    case 'restarting': {
      const lastExit = exitOf(view, 'exited');
      const nextStartAtMs = lastExit.atMs + waitMs(restarts, state);
      // The daemon counts a start when it decides to start.
      return { phase: 'waiting', restarts: Math.max(0, restarts - 1), nextStartAtMs, lastExit };
    }
    default:
      // A service that does not run was stopped, by us or by hand: else the daemon would start it
      // again.
      return {
        phase: 'ended',
        exit: exitOf(view, note?.ending ?? (spec.kind === 'service' ? 'stopped' : 'exited')),
      };
  }
}

export function healthOf(status: string | undefined): Pick<Running, 'health'> {
  const known = (['starting', 'healthy', 'unhealthy'] as const).find((one) => one === status);
  return known ? { health: known } : {};
}

function waitMs(restarts: number, state: ContainerView['State']): number {
  const ranMs = Date.parse(state.FinishedAt) - Date.parse(state.StartedAt);
  if (ranMs > backoff.goodRunMs) return backoff.firstMs;
  return Math.min(backoff.firstMs * 2 ** Math.max(0, restarts - 1), backoff.maxMs);
}

export function exitOf(view: ContainerView, reason: Exit['reason']): Exit {
  const { ExitCode: code, OOMKilled: isShort, FinishedAt: at } = view.State;
  return exitBy(view, reason, { code, isShort, atMs: Date.parse(at) });
}

/** `isShort`: the kernel ended it because of its memory. */
export function exitBy(
  { HostConfig: host }: Pick<ContainerView, 'HostConfig'>,
  reason: Exit['reason'],
  { code, isShort, atMs }: { code: number; isShort: boolean; atMs: number },
): Exit {
  const signal = signalOf(code);
  const exit = { code: signal === null ? code : null, signal, reason, atMs };
  if (!isShort) return { ...exit, detail: null };
  const limitMb = Math.round((host.Memory ?? 0) / 1024 / 1024);
  const detail = `It was ended because it used more than its ${limitMb} MB of memory.`;
  return { ...exit, cause: 'out_of_memory', detail };
}

/** Shells and docker-init report a signal as 128 plus its number. */
export function signalOf(code: number): string | null {
  if (code <= signalBase) return null;
  const known = Object.entries(os.constants.signals).find(
    ([, number]) => number === code - signalBase,
  );
  return known?.[0] ?? null;
}

export function failedExit(detail: string, atMs: number): Exit {
  return { code: null, signal: null, reason: 'failed_to_start', detail, atMs };
}

const portTaken =
  /port is already allocated|address already in use|port already in use|port '\d+' is already in use/i;

/** Words of the daemon or the swarm, and what people are told. The first that fits holds. */
const refusals: readonly [words: RegExp, sentence: string][] = [
  [portTaken, 'it: its port is already in use on the server (port is already allocated)'],
  [/no suitable node \((.*)\)/, 'it: the swarm has no suitable node ($1)'],
  [
    /no such image|manifest unknown|pull access denied|not found: manifest/i,
    'it: no such image on the server',
  ],
  [
    /(?:chdir|mkdir).*(?:not a directory|permission denied)/i,
    'it: its working folder cannot be entered',
  ],
  [/\/merged(\/[^\s:]*)(?: is not|: not a) directory/, 'it: $1 is no folder in the image'],
  [
    /executable file not found|no such file or directory/i,
    '$program: no such program in the image',
  ],
  [/permission denied/i, '$program: it is not executable'],
  [/exec format error/i, '$program: it is no program for this kind of machine'],
  [
    /unable to find (?:user|group)|uids and gids must be/i,
    'it: its user is not known in the image',
  ],
  [/no command specified/i, 'it: the image names no program, and none was given'],
  [/network .* not found/i, 'it: its network is gone'],
  [/no available IPv4 addresses/i, 'it: its network has no address left'],
];

/** The sentence for people about a container that could not be started. */
export function sentenceOf(words: string): string {
  const program = /exec: "?([^":]+)"?/.exec(words)?.[1] ?? 'it';
  return `Cannot start ${refusalIn(words, program) ?? 'it: the Docker daemon refused'}.`;
}

function refusalIn(words: string, program: string): string | undefined {
  for (const [pattern, sentence] of refusals) {
    const found = pattern.exec(words);
    if (found)
      return sentence.replace(/\$(1|program)/, (mark) =>
        mark === '$1' ? (found[1] ?? '') : program,
      );
  }
  return undefined;
}

export function isPortTaken(words: string): boolean {
  return portTaken.test(words);
}

/** A sentence made of what docker-init says when it cannot start a program; null for any other log. */
export function initFailure(log: string): string | null {
  const [said, program = '', why = ''] =
    /\[FATAL tini \(\d+\)\] exec (.+) failed: (.+)/.exec(log) ?? [];
  if (said === undefined) return null;
  return `Cannot start ${refusalIn(why, program) ?? `${program}: ${why}`}.`;
}
