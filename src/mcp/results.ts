/**
 * Owns results as JSON. Every result says that it is complete and which server made it.
 *
 * 1. A result of a tool has at most `resultBytesMax` bytes, its text and its structured content together. A
 *    cut result says so in a block of its own.
 * 2. Structured content that was cut keeps its shape: only texts and lists are shortened. Content that is
 *    too large even then is a failure that says so.
 * 3. Calls often end with the same answer, even for different callers. Writing a result takes a tenth of a
 *    call, so the last results are kept, by the JSON that they are made of.
 */
import { readyBytes } from '../protocol/json-rpc.ts';
import { type ContentBlock, resultBytesMax, type ToolOutcome } from './tool.ts';

export interface ServerInfo {
  readonly name: string;
  readonly version: string;
}

/** The end of a result: its type, and the server. */
export function resultTail({ name, version }: ServerInfo, more: object = {}): string {
  const meta = { 'io.modelcontextprotocol/serverInfo': { name, version }, ...more };
  return `"resultType":"complete","_meta":${JSON.stringify(meta)}}`;
}

// Braces, names and marks around the counted bytes.
const frameBytes = 700;
const cutNote =
  'Cut to fit 24 kB: texts or lists were shortened. Ask for fewer items or fields, or page on.';

const tooLarge = 'The answer is too large, even cut: ask for fewer items or fields.';

const keptMax = 8;
/** Writing a shorter result costs no more than a look-up. */
const keptCharsMin = 500;

/** Results as bytes; the last ones are kept. */
export class ResultBytes {
  readonly #tail: string;
  #kept: { json: string; bytes: Uint8Array }[] = [];

  /** `tail` comes from `resultTail`. */
  constructor(tail: string) {
    this.#tail = tail;
  }

  /** The result's bytes, in the form of `readyBytes`. */
  of(outcome: ToolOutcome): Uint8Array {
    const json = outcome.kind === 'structured' ? outcome.json : '';
    const kept = this.#kept.find((result) => result.json === json);
    if (kept) return kept.bytes;
    const bytes = readyBytes(outcomeJson(outcome, this.#tail));
    if (json.length < keptCharsMin) return bytes;
    this.#kept = [{ json, bytes }, ...this.#kept.slice(0, keptMax - 1)];
    return bytes;
  }
}

/** The JSON of a tool's result. */
export function outcomeJson(outcome: ToolOutcome, tail: string): string {
  switch (outcome.kind) {
    case 'structured':
      return structuredJson(outcome.json, tail);
    case 'text':
      return `{"content":${textBlocks(outcome.text)},${tail}`;
    case 'failed':
      return `{"content":${textBlocks(outcome.sentence)},"isError":true,${tail}`;
    case 'content': {
      const isError = outcome.isError === true ? '"isError":true,' : '';
      return `{"content":${contentBlocks(outcome.content)},${isError}${tail}`;
    }
  }
}

/** Whether a result with this structured content, and the same as text, stays within the limit. */
export function fits(json: string): boolean {
  // No character of JSON takes more bytes, escaped or not, because JSON holds no control characters.
  return json.length * 2 * utf8Max <= room || fittingBlock(json) !== null;
}

/** The JSON as a text of JSON when there is room for both; else null. */
function fittingBlock(json: string): string | null {
  if (json.length * 2 > room) return null;
  const block = JSON.stringify(json);
  const isSmall = (json.length + block.length) * utf8Max <= room;
  return isSmall || bytesOf(json, block) <= room ? block : null;
}

const room = resultBytesMax - frameBytes;
/** Bytes of one character. */
const utf8Max = 3;

function structuredJson(json: string, tail: string): string {
  const block = fittingBlock(json);
  if (block !== null) {
    return `{"content":[{"type":"text","text":${block}}],"structuredContent":${json},${tail}`;
  }
  const cut = cutJson(json, shareOfTwo);
  if (cut === null) return outcomeJson({ kind: 'failed', sentence: tooLarge }, tail);
  const blocks = [cut, cutNote].map((one) => ({ type: 'text', text: one }));
  return `{"content":${JSON.stringify(blocks)},"structuredContent":${cut},${tail}`;
}

const shareOfTwo = Math.floor(room / 2.3);

function textBlocks(text: string): string {
  const shown = cutText(text, room);
  const blocks = [{ type: 'text', text: shown }];
  if (shown.length < text.length) blocks.push({ type: 'text', text: cutNote });
  return JSON.stringify(blocks);
}

/** The blocks that there is room for, and the start of the next one's text. */
function contentBlocks(content: readonly ContentBlock[]): string {
  const whole = JSON.stringify(content);
  if (bytesOf(whole) <= room) return whole;
  const kept: string[] = [];
  let left = room;
  for (const block of content) {
    const json = JSON.stringify(block);
    left -= bytesOf(json) + 1;
    if (left >= 0) {
      kept.push(json);
      continue;
    }
    if (block.type === 'text' && typeof block['text'] === 'string') {
      const text = cutText(block['text'], left + escapedBytes(block['text']));
      if (text !== '') kept.push(JSON.stringify({ ...block, text }));
    }
    break;
  }
  return `[${[...kept, JSON.stringify({ type: 'text', text: cutNote })].join()}]`;
}

/** The start of a text whose JSON form takes at most `bytesMax` bytes; never half a character. */
export function cutText(text: string, bytesMax: number): string {
  let shown = text.slice(0, Math.max(0, bytesMax));
  // Even the empty text has its quotes.
  for (let bytes = escapedBytes(shown); bytes > bytesMax && shown !== '';) {
    shown = shown.slice(0, Math.max(0, Math.floor((shown.length * bytesMax) / bytes) - 1));
    bytes = escapedBytes(shown);
  }
  return endsInHalf(shown) ? shown.slice(0, -1) : shown;
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

/** Shortens texts and lists more and more until the JSON fits; null when that is not enough. */
function cutJson(json: string, bytesMax: number): string | null {
  const value: unknown = JSON.parse(json);
  for (let chars = 2_000, items = 100; chars > 0; chars = chars >> 1, items = items >> 1) {
    const cut = JSON.stringify(shortened(value, { chars, items }, 0));
    if (cut.length <= bytesMax && escapedBytes(cut) <= bytesMax) return cut;
  }
  return null;
}

// Far deeper than any answer of GraphQL. The recursion must end before the stack does.
const levelsMax = 100;

function shortened(
  value: unknown,
  to: Readonly<{ chars: number; items: number }>,
  level: number,
): unknown {
  if (typeof value === 'string') {
    return value.length <= to.chars ? value : `${cutText(value, to.chars)}…`;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = level < levelsMax ? value.slice(0, to.items) : [];
    return items.map((one) => shortened(one, to, level + 1));
  }
  if (level >= levelsMax) return {};
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, shortened(one, to, level + 1)]),
  );
}
