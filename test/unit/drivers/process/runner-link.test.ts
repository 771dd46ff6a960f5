import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { it } from 'node:test';

import { RunnerLink } from '../../../../src/drivers/process/runner-link.ts';
import type { RunnerWay } from '../../../../src/drivers/process/runner-way.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { foreignError } from '../../../../src/protocol/foreign-error.ts';
import { encodeFrame, FrameDecoder } from '../../../../src/protocol/message-frames.ts';
import type { RequestFrame } from '../../../../src/protocol/runner-messages.ts';
import { noLog } from '../../../support/runner.ts';

/** To a runner that has nothing, whatever it is asked. */
function wayToNothing(): RunnerWay {
  return {
    ...{ name: 'process', decode: null, place: {}, errorOf: foreignError, partsLogs: false },
    connect: (receive) => {
      const [near, far] = duplexPair();
      const decoder = new FrameDecoder();
      far.on('data', (chunk: Buffer) => {
        for (const { n } of decoder.push(chunk) as RequestFrame[])
          far.write(encodeFrame({ re: n, ok: [] }));
      });
      near.on('data', (chunk: Buffer) => receive?.(chunk));
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
    ...{ way: wayToNothing(), logger: noLog, clock: systemClock, requestTimeoutMs: 1_000 },
    tell: () => undefined,
  });
  t.after(() => link.close());
  (await link.connected()).close();
  assert.deepEqual(await link.ask({ op: 'list' }), []);
});
