/**
 * Owns doors: an interface that one thread serves, had on another thread with the same type.
 *
 * 1. A caller sees no difference: a question is answered, or rejected with the same ServiceError, and calls
 *    arrive in their order. All that crosses is plain data.
 * 2. Frames written to a client on another thread keep their backpressure (`remote-frames.ts`).
 *
 * A door is declared once (`doors.ts`), with how each method crosses. That follows from the method's
 * type, so the compiler checks it.
 */
import type { FrameSink } from '../logs/viewers/viewer.ts';
import type { PortCalls, PortHandler } from './port-calls.ts';
import { PortSinks, RemoteSinks } from './remote-frames.ts';

/**
 * - `ask`: returns a promise
 * - `askUntil`: the same; the last argument is a signal that gives the question up
 * - `tell`: returns nothing, and nobody waits for it
 * - `watch`: writes frames to a sink, the last argument; returns what to call when the client has left
 */
type Way = 'ask' | 'askUntil' | 'tell' | 'watch';

type WayOf<Method> = Method extends (...args: infer Args) => infer Result
  ? Args extends [...unknown[], FrameSink]
    ? 'watch'
    : Result extends Promise<unknown>
      ? Args extends [...unknown[], AbortSignal | null]
        ? 'askUntil'
        : 'ask'
      : 'tell'
  : never;

export interface Door<T> {
  readonly name: string;
  readonly ways: { readonly [M in keyof T]: WayOf<T[M]> };
}

/** Whoever serves a door may answer without a promise. */
export type Served<T> = {
  [M in keyof T]: T[M] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Result | Awaited<Result>
    : never;
};

export function door<T extends object>(name: string, ways: Door<T>['ways']): Door<T> {
  return { name, ways };
}

/** A method without its types, which `Door` checks on both sides. */
type Method = (...args: unknown[]) => unknown;

/** The far side of a door. Once for a port. */
export function openDoor<T extends object>(port: PortCalls, { name, ways }: Door<T>): T {
  const methods: Record<string, Method> = {};
  for (const [method, way] of Object.entries<Way>(ways)) {
    methods[method] = crossing(port, `${name}.${method}`, way);
  }
  return methods as T;
}

function crossing(port: PortCalls, call: string, way: Way): Method {
  switch (way) {
    case 'ask':
      return (...args) => port.ask(call, args);
    case 'askUntil':
      return (...args) => port.ask(call, args.slice(0, -1), args.at(-1) as AbortSignal | null);
    case 'tell':
      return (...args) => port.tell(call, args);
    case 'watch': {
      const sinks = new RemoteSinks(port, call);
      return (...args) => {
        const { viewer, leave } = sinks.add(args.at(-1) as FrameSink);
        port.tell(call, [...args.slice(0, -1), viewer]);
        return leave;
      };
    }
  }
}

/** Answers for `own` what the other side of the port calls through the door. Once for a port. */
export function serveDoor<T extends object>(
  port: PortCalls,
  { name, ways }: Door<T>,
  own: Served<T>,
): void {
  const methods = own as Record<string, Method>;
  for (const [method, way] of Object.entries<Way>(ways)) {
    const call = `${name}.${method}`;
    const run: Method = (...args) => methods[method]?.(...args);
    port.handle(call, handler(port, call, way, run));
  }
}

function handler(port: PortCalls, call: string, way: Way, run: Method): PortHandler {
  switch (way) {
    case 'ask':
    case 'tell':
      return (args) => run(...(args as unknown[]));
    case 'askUntil':
      return (args, signal) => run(...(args as unknown[]), signal);
    case 'watch': {
      const sinks = new PortSinks(port, call);
      return (input) => {
        const args = input as unknown[];
        const viewer = args.pop() as number;
        sinks.watch(viewer, (sink) => run(...args, sink) as () => void);
      };
    }
  }
}
