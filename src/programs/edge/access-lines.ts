/**
 * Owns the lines of access logs on their way from the edge: a line a request, gathered and told together.
 *
 * 1. No visitor waits for the log. What is too much for it, or for whoever takes it, is dropped, and a line says
 *    how many requests are missing.
 * 2. A line is one line of printable ASCII, whatever a visitor sends, and has a bounded length.
 * 3. It says nothing of cookies and authorization.
 */
import type { Clock } from '../../lib/clock.ts';
import type { AccessLines } from '../../protocol/edge-messages.ts';

/** How a request ended. */
export interface Ended {
  startedAtMs: number;
  /** 0: there was no answer. */
  status: number;
  bytesIn: number;
  bytesOut: number;
  ms: number;
  requestId: string;
}

/** What is told of one request. */
export interface Access extends Ended {
  address: string;
  method: string;
  /** With its query. */
  target: string;
  version: '1.0' | '1.1' | '2';
  host: string;
  /** Fields of the head, each a line with its end; of these, `Referer` and `User-Agent` are told. */
  fields: string;
}

export interface AccessLogOptions {
  clock: Clock;
  /** `taken` is called once there is room for more. */
  tell: (lines: AccessLines, taken: () => void) => void;
}

interface Gathered {
  text: string;
  dropped: number;
}

const gatherMs = 250;
/** What is gathered of one app, and of all: some 4,000 requests a second of one. */
const [ownMax, allMax] = [128 * 1024, 512 * 1024];
const [targetMax, fieldMax] = [2048, 512];

export class AccessLog {
  readonly #options: AccessLogOptions;
  #gathered = new Map<string, Gathered>();
  #length = 0;
  #phase: 'idle' | 'gathers' | 'tells' = 'idle';

  constructor(options: AccessLogOptions) {
    this.#options = options;
  }

  add(app: string, access: Access): void {
    let own = this.#gathered.get(app);
    if (own === undefined) {
      own = { text: '', dropped: 0 };
      this.#gathered.set(app, own);
    }
    if (own.text.length >= ownMax || this.#length >= allMax) {
      own.dropped += 1;
    } else {
      const line = accessLine(access);
      own.text += line;
      this.#length += line.length;
    }
    if (this.#phase === 'idle') this.#tellSoon();
  }

  /** Tells at once what was not told. */
  flush(): void {
    if (this.#phase === 'gathers') this.#tell();
  }

  #tellSoon(): void {
    this.#phase = 'gathers';
    this.#options.clock.after(gatherMs, () => this.flush());
  }

  #tell(): void {
    const lines = [...this.#gathered].map(([app, { text, dropped }]): AccessLines[number] => [
      app,
      dropped === 0
        ? text
        : `${text}${String(dropped)} requests are not in this log: too many came at once\n`,
    ]);
    this.#gathered = new Map();
    this.#length = 0;
    this.#phase = 'tells';
    this.#options.tell(lines, () => {
      this.#phase = 'idle';
      if (this.#gathered.size > 0) this.#tellSoon();
    });
  }
}

/** In the combined format, and behind that: host, bytes of the request's body, seconds, id of the request. */
export function accessLine(access: Access): string {
  const { address, startedAtMs, method, target, version, status, bytesOut } = access;
  const { fields, host, bytesIn, ms, requestId } = access;
  const request = `${plain(method, 32)} ${plain(target, targetMax)} HTTP/${version}`;
  const referer = plain(fieldOf(fields, 'referer') ?? '-', fieldMax);
  const agent = plain(fieldOf(fields, 'user-agent') ?? '-', fieldMax);
  const answer = `${status === 0 ? '-' : String(status)} ${String(bytesOut)}`;
  const seconds = (ms / 1000).toFixed(3);
  return `${plain(address, 64)} - - [${timeOf(startedAtMs)}] "${request}" ${answer} "${referer}" "${agent}" ${plain(host, 256)} ${String(bytesIn)} ${seconds} ${plain(requestId, 128)}\n`;
}

/** `name`: in lower case. */
function fieldOf(fields: string, name: string): string | undefined {
  const match = new RegExp(`(?:^|\\n)${name}:[ \\t]*([^\\r\\n]*)`, 'i').exec(fields);
  return match?.[1];
}

/** Cut at `max` characters, of which those that are not printable, `"` and `\` are written as `\xHH`. */
function plain(text: string, max: number): string {
  const shown = text.length > max ? `${text.slice(0, max)}...` : text;
  return shown.replace(/[^\x20-\x7e]|["\\]/g, (character) => {
    const code = character.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`;
  });
}

const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** Such as `24/Nov/2026:09:30:00 +0000`. */
function timeOf(atMs: number): string {
  const [date = '', time = ''] = new Date(atMs).toISOString().slice(0, 19).split('T');
  const [year = '', month = '', day = ''] = date.split('-');
  return `${day}/${months[Number(month) - 1] ?? ''}/${year}:${time} +0000`;
}
