/**
 * Owns one console over `/api/apps|databases/:id/attach`, from its opening to its end: a shell that outlives the
 * connection, and a page that comes back to it.
 *
 * 1. Keys arrive in the order in which they were typed, one call at a time. Keys whose call was lost are not typed
 *    again.
 * 2. A lost connection is opened again, with growing pauses; what was shown before is shown again, and no question in
 *    it is answered a second time.
 */
import { problemOf } from '../api/errors.ts';

export type ConsoleState =
  | { kind: 'connecting' }
  | { kind: 'connected' }
  | { kind: 'lost' }
  | { kind: 'ended'; why: string | null };

export interface ConsoleScreen {
  readonly cols: number;
  readonly rows: number;
  /** Calls back once all of it is shown. */
  write(text: string, shown?: () => void): void;
  reset(): void;
}

export interface ConsoleOptions {
  /** The address, such as `/api/apps/app_1/attach`. */
  attach: string;
  /** '' for the default. */
  container: string;
  screen: ConsoleScreen;
  onState: (state: ConsoleState) => void;
}

/** The service pings every 15 seconds; after this long the connection is dead, whatever the browser believes. */
const silenceMs = 40_000;
const retryMs = [250, 500, 1_000, 2_000, 4_000];
/** In UTF-16 units. Each unit is three bytes at most, and a call takes 64 KiB. */
const inputMax = 20_000;

/** What ends the console for good. */
class Ended extends Error {}

type Input = { sessionId: string } & (
  { resize: { cols: number; rows: number } } | { data: string }
);

export class ConsoleSession {
  readonly #options: ConsoleOptions;
  // A reloaded page returns to its shell by this key.
  readonly #key: string;
  #sessionId: string | null;
  #seen = false;
  #input = '';
  #size: { cols: number; rows: number } | null = null;
  #sending = false;
  #ended = false;
  /** What is written now was shown before, and questions in it were answered then. */
  #replaying = false;
  #connection: AbortController | null = null;

  constructor(options: ConsoleOptions) {
    this.#options = options;
    this.#key = `console ${options.attach} ${options.container}`;
    this.#sessionId = sessionStorage.getItem(this.#key);
  }

  async run(): Promise<void> {
    let failures = 0;
    this.#options.onState({ kind: 'connecting' });
    while (!this.#ended) {
      try {
        await this.#follow(() => {
          failures = 0;
        });
      } catch (error) {
        if (error instanceof Ended) this.#end(error.message);
      }
      if (this.#isOver()) return;
      this.#options.onState({ kind: 'lost' });
      await pause(retryMs[Math.min(failures++, retryMs.length - 1)] ?? 0);
    }
  }

  type(text: string): void {
    if (this.#replaying) return;
    this.#input += text;
    void this.#send();
  }

  resize(size: { cols: number; rows: number }): void {
    this.#size = size;
    void this.#send();
  }

  /** Ends the shell. */
  close(): void {
    const id = this.#sessionId;
    this.#end(null);
    if (id === null) return;
    const address = `${this.#options.attach}?sessionId=${encodeURIComponent(id)}`;
    void fetch(address, { method: 'DELETE' }).catch(() => undefined);
  }

  /** Leaves the shell as it is: a page that comes within a minute finds it again. */
  leave(): void {
    this.#ended = true;
    this.interrupt();
  }

  /** The network is gone or back, so the calls under way are useless. */
  interrupt(): void {
    this.#connection?.abort();
  }

  /** Reads one stream to its end. */
  async #follow(opened: () => void): Promise<void> {
    const connection = new AbortController();
    this.#connection = connection;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const heard = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => connection.abort(), silenceMs);
    };
    try {
      heard();
      const response = await this.#get(connection.signal);
      opened();
      let rest = '';
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const read = await reader?.read();
        if (read === undefined || read.done) return;
        heard();
        const events = (rest + read.value).split('\n\n');
        rest = events.pop() ?? '';
        for (const event of events) this.#hear(event);
      }
    } finally {
      clearTimeout(timer);
      this.#connection = null;
    }
  }

  async #get(signal: AbortSignal): Promise<Response> {
    const { screen, container, attach } = this.#options;
    const query = new URLSearchParams({ cols: String(screen.cols), rows: String(screen.rows) });
    if (container !== '') query.set('container', container);
    if (this.#sessionId !== null) query.set('sessionId', this.#sessionId);
    const response = await fetch(`${attach}?${String(query)}`, { signal, cache: 'no-store' });
    if (response.ok) return response;
    const { message } = await problemOf(response);
    if (this.#sessionId !== null && response.status === 404 && !this.#seen) {
      // The shell of an earlier page is gone; this opens a new one.
      this.#forget();
      return this.#get(signal);
    }
    // The service is busy or being restarted.
    if (response.status >= 500) throw new Error(message);
    throw new Ended(message);
  }

  #hear(text: string): void {
    const { screen, onState } = this.#options;
    if (text.startsWith(': live\n')) {
      screen.write('', () => {
        this.#replaying = false;
      });
      return;
    }
    const { event, data } = fieldsOf(text);
    if (event === undefined) return;
    const value = JSON.parse(data ?? '""') as string;
    if (event === 'session') {
      // A page that returns to a shell gets that shell's last output again.
      this.#replaying = value === this.#sessionId;
      this.#sessionId = value;
      this.#seen = true;
      sessionStorage.setItem(this.#key, value);
      screen.reset();
      onState({ kind: 'connected' });
      void this.#send();
    } else if (event === 'data') screen.write(value);
    else if (event === 'exit') this.#end(null);
    else if (event === 'failure') this.#end(value);
  }

  async #send(): Promise<void> {
    if (this.#sending) return;
    this.#sending = true;
    try {
      for (let next = this.#take(); next !== null; next = this.#take()) {
        if (!(await this.#post(next))) return;
      }
    } finally {
      this.#sending = false;
    }
  }

  #take(): Input | null {
    const sessionId = this.#sessionId;
    if (this.#ended || sessionId === null) return null;
    if (this.#size !== null) {
      const resize = this.#size;
      this.#size = null;
      return { sessionId, resize };
    }
    if (this.#input === '') return null;
    const last = this.#input.charCodeAt(inputMax - 1);
    // The cut must not separate the halves of one character.
    const length = last >= 0xd800 && last <= 0xdbff ? inputMax - 1 : inputMax;
    const data = this.#input.slice(0, length);
    this.#input = this.#input.slice(length);
    return { sessionId, data };
  }

  /** Whether more may follow at once. */
  async #post(input: Input): Promise<boolean> {
    let response: Response;
    try {
      response = await fetch(this.#options.attach, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(input),
      });
    } catch {
      // Nobody knows whether the input arrived. Typing it twice would be worse than losing it.
      this.interrupt();
      return false;
    }
    if (response.status === 429 && 'data' in input) {
      this.#input = input.data + this.#input;
      await pause(1_000);
      return true;
    }
    if (response.status === 403) this.#end((await problemOf(response)).message);
    return response.ok;
  }

  #isOver(): boolean {
    return this.#ended;
  }

  #forget(): void {
    this.#sessionId = null;
    sessionStorage.removeItem(this.#key);
  }

  #end(why: string | null): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#forget();
    this.#options.onState({ kind: 'ended', why });
    this.interrupt();
  }
}

function fieldsOf(event: string): { event?: string; data?: string } {
  const fields = new Map<string, string>();
  for (const line of event.split('\n')) {
    const colon = line.indexOf(': ');
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 2));
  }
  return Object.fromEntries(fields);
}

/** Waits; the return of the network ends it early. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      removeEventListener('online', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener('online', done);
  });
}
