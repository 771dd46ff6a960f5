/**
 * Owns results as JSON: every one says that it is complete and who made it, and none is larger than a
 * context should take.
 *
 * 1. A result of a tool is at most `resultBytesMax` bytes, its text and its structured content
 *    together; what was cut is said in a block of its own.
 * 2. Structured content that was cut still has the shape it had: texts are shortened, lists too.
 */
import type { ToolOutcome } from './contract.ts';
import { resultBytesMax } from './contract.ts';

export interface ServerInfo {
  readonly name: string;
  readonly version: string;
}

/** Ends a result: its type, and who answers. */
export function resultTail({ name, version }: ServerInfo): string {
  const serverInfo = { 'io.modelcontextprotocol/serverInfo': { name, version } };
  return `"resultType":"complete","_meta":${JSON.stringify(serverInfo)}}`;
}

// Braces, names and marks around what is counted.
const frameBytes = 700;
const cutNote =
  'Cut to fit 24 kB: texts or lists were shortened. Ask for fewer items or fields, or page on.';

/** The JSON of a tool's result. */
export function outcomeJson(outcome: ToolOutcome, tail: string): string {
  switch (outcome.kind) {
    case 'structured':
      return structuredJson(outcome.json, outcome.text, tail);
    case 'text':
      return `{"content":${textBlocks(outcome.text)},${tail}`;
    case 'failed':
      return `{"content":${textBlocks(outcome.sentence)},"isError":true,${tail}`;
    case 'content': {
      const isError = outcome.isError === true ? '"isError":true,' : '';
      return `{"content":${JSON.stringify(outcome.content)},${isError}${tail}`;
    }
  }
}

/** Whether a result with this structured content, and the same as text, stays within the bound. */
export function fits(json: string, text = json): boolean {
  if ((json.length + text.length) * worstFactor <= resultBytesMax - frameBytes) return true;
  return bytesOf(json, JSON.stringify(text)) <= resultBytesMax - frameBytes;
}

/** No character takes more bytes than this, escaped and in UTF-8. */
const worstFactor = 6;

function structuredJson(json: string, text: string | undefined, tail: string): string {
  if (fits(json, text)) {
    const block = JSON.stringify(text ?? json);
    return `{"content":[{"type":"text","text":${block}}],"structuredContent":${json},${tail}`;
  }
  const cut = cutJson(json, text === undefined ? shareOfTwo : shareOfTwo - escapedBytes(text));
  const shown = text === undefined ? cut : cutText(text, shareOfTwo);
  const blocks = [shown, cutNote].map((one) => ({ type: 'text', text: one }));
  return `{"content":${JSON.stringify(blocks)},"structuredContent":${cut},${tail}`;
}

const shareOfTwo = Math.floor((resultBytesMax - frameBytes) / 2.3);

function textBlocks(text: string): string {
  const shown = cutText(text, resultBytesMax - frameBytes);
  const blocks = [{ type: 'text', text: shown }];
  if (shown.length < text.length) blocks.push({ type: 'text', text: cutNote });
  return JSON.stringify(blocks);
}

/** The start of a text whose JSON form takes at most so many bytes; never half a character. */
export function cutText(text: string, bytesMax: number): string {
  let shown = text.length > bytesMax ? text.slice(0, bytesMax) : text;
  for (let bytes = escapedBytes(shown); bytes > bytesMax; bytes = escapedBytes(shown)) {
    shown = shown.slice(0, Math.floor((shown.length * bytesMax) / bytes) - 1);
  }
  return endsInHalf(shown) ? shown.slice(0, -1) : shown;
}

/** The end of a text within so many bytes of JSON; never half a character. */
export function endOfText(text: string, bytesMax: number): string {
  let shown = text.length > bytesMax ? text.slice(-bytesMax) : text;
  for (let bytes = escapedBytes(shown); bytes > bytesMax; bytes = escapedBytes(shown)) {
    shown = shown.slice(shown.length - Math.floor((shown.length * bytesMax) / bytes) + 1);
  }
  const first = shown.charCodeAt(0);
  return first >= 0xdc00 && first <= 0xdfff ? shown.slice(1) : shown;
}

function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}

function escapedBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}

function bytesOf(...texts: string[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

/** Shortens texts, then lists, ever harder until the JSON fits. */
function cutJson(json: string, bytesMax: number): string {
  const value: unknown = JSON.parse(json);
  for (let chars = 2_000, items = 100; items > 0; chars = chars >> 1, items = items >> 1) {
    const cut = JSON.stringify(shortened(value, chars, items));
    if (escapedBytes(cut) <= bytesMax) return cut;
  }
  return JSON.stringify(shortened(value, 0, 0));
}

function shortened(value: unknown, chars: number, items: number): unknown {
  if (typeof value === 'string') {
    return value.length <= chars ? value : `${cutText(value.slice(0, chars), chars)}…`;
  }
  if (Array.isArray(value)) {
    return value.slice(0, items).map((one) => shortened(one, chars, items));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, shortened(one, chars, items)]),
  );
}
