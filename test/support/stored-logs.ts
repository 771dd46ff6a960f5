/** Logs on disk, for those who read and search them. */
import type { LogName } from '../../src/logs/files/log.ts';
import { LogWriter } from '../../src/logs/files/writer.ts';
import { memoryLogger } from './memory-logger.ts';

export interface StoredLine {
  text: string;
  atMs: number;
  stream?: 'stdout' | 'stderr' | 'system';
}

/** Writes the lines as they come, so many in a block, into segments of so many bytes. */
export async function storeLog(
  dir: string,
  log: LogName,
  lines: Iterable<StoredLine>,
  { segmentBytes = 4 * 1024 * 1024, blockLines = 500 } = {},
): Promise<void> {
  const writer = new LogWriter({ dir, logger: memoryLogger(), segmentBytes });
  let block: { atMs: number; stream: 'stdout' | 'stderr' | 'system'; bytes: Buffer }[] = [];
  for (const { text, atMs, stream = 'stdout' } of lines) {
    block.push({ atMs, stream, bytes: Buffer.from(`${text}\n`) });
    if (block.length < blockLines) continue;
    writer.append(log, block);
    block = [];
  }
  writer.append(log, block);
  await writer.close();
}
