/** Owns the driver of another server before an agent, within this process, that says of its runner what a test likes. */
import type { Duplex } from 'node:stream';
import type { TestContext } from 'node:test';

import type { Driver, DriverEvent } from '../../src/drivers/driver.ts';
import { createRemoteDriver } from '../../src/drivers/remote/remote-driver.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import { ResumableDuplex } from '../../src/lib/resumable-duplex.ts';
import { runnerCalls, runnerGreeting } from '../../src/protocol/agent-runner.ts';
import { encodeFrame, FrameDecoder } from '../../src/protocol/message-frames.ts';
import type { RequestFrame } from '../../src/protocol/runner-messages.ts';
import { runnerProtocol } from '../../src/protocol/runner-version.ts';
import type { Workload } from '../../src/protocol/workload.ts';
import { joinedLink } from './agent-link.ts';
import { specOf } from './driver-specs.ts';
import { noLog } from './runner.ts';

export function workloadOf(id: string, owner: string): Workload {
  return {
    spec: specOf({ id, owner, command: ['/bin/true'] }),
    state: { phase: 'running', pid: 1, startedAtMs: 1, restarts: 0 } as never,
  };
}

export const silent = new ServiceError('AGENT_UNREACHABLE', 'It is silent.');

export interface Lying {
  driver: Driver;
  events: DriverEvent[];
  tell: (frame: unknown) => void;
}

/** Its runner answers as `answer` says; `tell` sends frames without being asked. `says`: whether records are told. */
export async function lying(
  t: TestContext,
  answer: (request: RequestFrame) => unknown,
  { says = [true], clock = systemClock }: { says?: boolean[]; clock?: Clock } = {},
): Promise<Lying> {
  let runner: Duplex | undefined;
  const link = joinedLink('srv_a', {
    calls: {
      [runnerCalls.records]: () =>
        (says.shift() ?? true) ? Promise.resolve(true) : Promise.reject(silent),
      [runnerCalls.launch]: () => Promise.resolve(null),
    },
    streams: {
      [runnerCalls.stream]: (_head, stream) => {
        const broken = (): Error => new Error('broken');
        const common = { windowBytes: 1024 * 1024, keepMs: 1000, clock: systemClock, broken };
        const kept = new ResumableDuplex(common);
        kept.on('error', () => undefined);
        stream.write(runnerGreeting('00'.repeat(16), 0));
        kept.attach(stream, 0);
        runner = kept;
        const decoder = new FrameDecoder();
        kept.on('data', (chunk: Buffer) => {
          for (const frame of decoder.push(chunk) as RequestFrame[]) {
            const told =
              frame.op === 'hello' ? { ok: { protocol: runnerProtocol, pid: 1 } } : answer(frame);
            if (told !== undefined) kept.write(encodeFrame({ re: frame.n, ...(told as object) }));
          }
        });
      },
    },
  });
  const driver = createRemoteDriver({
    link,
    logger: noLog,
    clock,
    isOwn: (owner) => owner === 'app_own',
    requestTimeoutMs: 500,
  });
  t.after(() => driver.close());
  const events: DriverEvent[] = [];
  driver.watch((event) => events.push(event));
  await driver.open();
  return { driver, events, tell: (frame: unknown) => void runner?.write(encodeFrame(frame)) };
}
