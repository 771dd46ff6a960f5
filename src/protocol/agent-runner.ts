/** Owns how the runner of another server is reached over the link: its bytes are those of its own socket. */
import type { Lane } from './agent-link.ts';

export const runnerCalls = {
  /** Whether anything is on record there. */
  records: 'runner.records',
  /** Starts one, unless it answers; answered once it does. */
  launch: 'runner.launch',
  /** NOT_RUNNING where no runner listens. */
  stream: 'runner',
} as const;

/**
 * The head of a stream of the runner. It goes on where one that was lost left off, as long as that is kept, else it is
 * NOT_FOUND.
 */
export interface RunnerHead {
  /** What the agent called it; null: it is a new one. */
  session: string | null;
  /** How many bytes of the runner have come. */
  received: number;
  /** The one that it is on, which says how much may be on its way. */
  lane: Lane;
}

/** How long a lost stream is kept on both sides: as long as people wait for a console. */
export const runnerKeepMs = 60_000;
/** Bytes that are not acknowledged, each way. */
export const runnerWindowBytes = { control: 1024 * 1024, bulk: 4 * 1024 * 1024 } as const;

const [sessionBytes, countBytes] = [16, 6];
/** What the agent sends first on each: the session, and how many bytes of ours have come. */
export const runnerGreetingBytes = sessionBytes + countBytes;

export function runnerGreeting(session: string, received: number): Buffer {
  const greeting = Buffer.alloc(runnerGreetingBytes);
  greeting.write(session, 'hex');
  greeting.writeUIntBE(received, sessionBytes, countBytes);
  return greeting;
}

export function readRunnerGreeting(bytes: Buffer): { session: string; received: number } {
  return {
    session: bytes.toString('hex', 0, sessionBytes),
    received: bytes.readUIntBE(sessionBytes, countBytes),
  };
}
