/**
 * Owns what an instance that failed to start said last, in the log of its deployment.
 *
 * 1. Its lines stay on the app's own streams there, as in its own log: none is taken for one of ours.
 * 2. They are the instance's own, also while the one before it writes to the same log; bounded.
 */
import { lastWordsMs } from '../../workload/ends.ts';
import type { AppCore } from '../core.ts';
import { isAborted } from '../../workload/reach.ts';

const linesMax = 40;
const lineMaxBytes = 2048;

/** Never rejects: what cannot be had is left out. */
export async function tellLastWords(
  core: AppCore,
  deploymentId: string,
  workloadId: string,
  signal: AbortSignal,
): Promise<void> {
  const { streams, clock, logger } = core.deps;
  const log = `build:${deploymentId}` as const;
  const untilMs = clock.now() + lastWordsMs;
  try {
    await settleOutput(core, workloadId, signal);
    const lines = streams.reader.lastOf(core.logOf(workloadId), workloadId, untilMs, linesMax);
    if (lines.length === 0) {
      streams.write(log, 'The app itself wrote nothing.\n');
      return;
    }
    streams.write(log, 'What the app itself wrote last:\n');
    const atMs = clock.now();
    streams.copy(
      log,
      lines.map(({ stream, bytes }) => ({ atMs, stream, bytes: wholeLine(bytes) })),
    );
  } catch (error) {
    if (!isAborted(signal)) logger.warn({ workload: workloadId, err: error }, 'last_words_lost');
  }
}

/** What has ended has said all; what waits for its next start is not started any more. */
async function settleOutput(core: AppCore, workloadId: string, signal: AbortSignal): Promise<void> {
  const { driver } = core.deps;
  const workload = await driver.inspect(workloadId);
  if (workload?.state.phase === 'running') return;
  if (workload?.state.phase === 'waiting') await driver.stop(workloadId);
  await core.care.settled(workloadId, signal);
}

/** One line, cut where it is very long, with its end. */
function wholeLine(bytes: Uint8Array): Uint8Array {
  if (bytes.length <= lineMaxBytes && bytes.at(-1) === 0x0a) return bytes;
  return Buffer.concat([bytes.subarray(0, lineMaxBytes), Buffer.from('\n')]);
}
