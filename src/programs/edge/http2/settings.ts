/** Owns what a client's SETTINGS say (RFC 9113, 6.5), as far as it is heeded here, and what ours say. */
import type { Frame } from './frame-reader.ts';
import { type ErrorCode, errors, frameBytesMax, settingsFrame, windowMax } from './frames.ts';
import { headBytesMax } from './head-reader.ts';
import { streamWindow } from './receive-window.ts';
import { streamsMax } from './streams.ts';

const [headerTable, enablePush, concurrentStreams, initialWindow, maxFrame, headList] = [
  1, 2, 3, 4, 5, 6,
];
const settingBytes = 6;
const largestFrameMax = 2 ** 24 - 1;

export const ownSettings: string = settingsFrame([
  [concurrentStreams, streamsMax],
  [initialWindow, streamWindow],
  [headList, headBytesMax],
]);

export interface ClientSettings {
  /** What a stream may send at first; undefined: they do not say. */
  window: number | undefined;
  /** The smallest table that they name. */
  tableBytes: number;
}

export function readSettings({ bytes, from, to }: Frame): ClientSettings | ErrorCode {
  if ((to - from) % settingBytes !== 0) return errors.frameSize;
  let window: number | undefined;
  let tableBytes = Infinity;
  for (let at = from; at < to; at += settingBytes) {
    const [id, value] = [bytes.readUInt16BE(at), bytes.readUInt32BE(at + 2)];
    if (id === enablePush && value > 1) return errors.protocol;
    if (id === maxFrame && (value < frameBytesMax || value > largestFrameMax))
      return errors.protocol;
    if (id === headerTable) tableBytes = Math.min(tableBytes, value);
    if (id !== initialWindow) continue;
    if (value > windowMax) return errors.flowControl;
    window = value;
  }
  return { window, tableBytes };
}
