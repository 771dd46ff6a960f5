import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { it } from 'node:test';

import { RunnerDriver } from '../../../../src/drivers/process/process-driver.ts';
import { RunnerLink } from '../../../../src/drivers/process/runner-link.ts';
import type { RunnerWay } from '../../../../src/drivers/process/runner-way.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import type { ServiceError } from '../../../../src/lib/errors.ts';
import { foreignError } from '../../../../src/protocol/foreign-error.ts';
import { encodeFrame, FrameDecoder } from '../../../../src/protocol/message-frames.ts';
import type { RequestFrame } from '../../../../src/protocol/runner-messages.ts';
import { eventually } from '../../../support/eventually.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { noLog } from '../../../support/runner.ts';

/** To a runner that answers with what is given, or with nothing. */
function wayTo(answer: (request: RequestFrame) => unknown): RunnerWay {
  return {
    ...{ name: 'process', decode: null, place: {}, errorOf: foreignError, partsLogs: false },
    connect: (receive) => {
      const [near, far] = duplexPair();
      const decoder = new FrameDecoder();
      far.on('data', (chunk: Buffer) => {
        for (const request of decoder.push(chunk) as RequestFrame[]) {
          const ok = answer(request);
          if (ok !== undefined) far.write(encodeFrame({ re: request.n, ok }));
        }
      });
      if (receive !== null) near.on('data', receive);
      return Promise.resolve({ stream: near });
    },
    agree: () => Promise.resolve(),
    configure: () => Promise.resolve(),
    launch: () => Promise.resolve(),
    hasRecords: () => Promise.resolve(true),
    mayHaveNetworks: () => true,
  };
}

it('RunnerLink asks over another connection in the very turn in which one breaks', async (t) => {
  const link = new RunnerLink({
    ...{ way: wayTo(() => []), logger: noLog, clock: systemClock, requestTimeoutMs: 1_000 },
    tell: () => undefined,
  });
  t.after(() => link.close());
  (await link.connected()).close();
  assert.deepEqual(await link.ask({ op: 'list' }), []);
});

it('RunnerDriver waits for no answer that stalls longer than what is asked may take', async (t) => {
  const clock = new ManualClock();
  const seen: RequestFrame[] = [];
  const way = wayTo((request) => {
    seen.push(request);
    return ['hello', 'list'].includes(request.op) ? [] : undefined;
  });
  const driver = new RunnerDriver({ way, logger: noLog, clock, requestTimeoutMs: 500 });
  t.after(() => driver.close());
  const command = { command: ['/bin/true'], env: {} };
  const { signal } = new AbortController();
  const startedAtMs = clock.now();
  const ended: Record<string, unknown> = {};
  for (const [op, asked] of Object.entries({
    stop: driver.stop('a-1'),
    remove: driver.remove('a-1'),
    exec: driver.exec('a-1', { ...command, timeoutMs: 60_000, maxBytes: 10 }, signal),
    pipe: driver.pipe('a-1', command, null, signal),
  })) {
    asked.catch((error: unknown) => {
      ended[op] = [(error as ServiceError).code, clock.now() - startedAtMs];
    });
    await eventually(`${op} is asked`, () => seen.some((one) => one.op === op));
  }
  for (let i = 0; i < 400; i++) await clock.advance(500);
  assert.deepEqual(ended, {
    pipe: ['AGENT_UNREACHABLE', 500],
    exec: ['AGENT_UNREACHABLE', 60_500],
    stop: ['AGENT_UNREACHABLE', 180_000],
    remove: ['AGENT_UNREACHABLE', 180_000],
  });
  // What was given up may still run.
  const given = seen.find(({ op }) => op === 'exec');
  const canceled = seen.find((one) => one.op === 'cancel');
  assert.equal(canceled?.request, given?.n);
});
