/**
 * Owns the release of memory while a thread rests. V8 collects garbage only when it needs room, so the
 * garbage of a load would stay until the next load: 85 MiB after a load of GraphQL.
 *
 * 1. There is one collection after a load, when the thread has hardly worked for `everyMs`, and none under
 *    load. V8 then shrinks its heap by itself, in small steps, within some ten seconds.
 * 2. Little garbage stays, because a collection stops the thread for some tens of milliseconds.
 */
import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from '../lib/clock.ts';

export interface IdleCollectionOptions {
  clock: Clock;
  /** How long the thread must have rested; default 2,000. */
  everyMs?: number;
  /** A collection runs when memory has grown by this many bytes since the last one; default 24 MiB. */
  growthBytes?: number;
  /**
   * The memory of the thread; default: V8's heap with its garbage and free room, and memory outside the
   * heap.
   */
  heldBytes?: () => number;
  /** The part of the time since the last call that the thread worked, 0 to 1. */
  load?: () => number;
  /** Default: V8's full collection. */
  collect?: () => void;
}

/** A thread that works more than this part of the time does not rest. */
const restingLoad = 0.1;

/** Begins to watch this thread; the returned function ends it. */
export function collectWhenIdle(options: IdleCollectionOptions): () => void {
  const { clock, everyMs = 2_000, growthBytes = 24 * 2 ** 20 } = options;
  const { heldBytes = heldByThread, load = loadOfThread(), collect = fullCollection() } = options;
  // With zero here, the garbage of the start is collected first.
  let keptBytes = 0;
  let cancel: () => void;
  const look = (): void => {
    const held = heldBytes();
    // Memory that was released since then leaves no room for more garbage.
    keptBytes = Math.min(keptBytes, held);
    if (load() < restingLoad && held > keptBytes + growthBytes) {
      collect();
      keptBytes = held;
    }
    cancel = clock.after(everyMs, look);
  };
  cancel = clock.after(everyMs, look);
  return () => cancel();
}

function heldByThread(): number {
  const { total_heap_size: heap, external_memory: outside } = getHeapStatistics();
  return heap + outside;
}

function loadOfThread(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}

function fullCollection(): () => void {
  // Only a context that is made after the flag was set has the function.
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
