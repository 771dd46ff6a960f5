/** A console of an app or a database over HTTP, as a browser uses it, for scenarios. */
import assert from 'node:assert/strict';
import { eventually } from './eventually.ts';
import type { Answer, Client, Problem } from './gangway-client.ts';
import { LogTail } from './log-tail.ts';

export class ConsoleClient {
  readonly path: string;
  readonly client: Client;
  stream: LogTail;

  private constructor(client: Client, path: string, stream: LogTail) {
    this.client = client;
    this.path = path;
    this.stream = stream;
  }

  /** GET on a path such as `/api/apps/<id>/attach`, as it is answered. */
  static async ask(
    client: Client,
    path: string,
    query = '',
    headers: Record<string, string> = {},
  ): Promise<ConsoleClient> {
    const given = { cookie: client.cookie, ...headers };
    const stream = new LogTail(`${client.url}${path}${query}`, given);
    await stream.opened();
    await eventually('its session, or why it is refused', () => {
      return stream.ended || (stream.status === 200 && stream.events.length > 0);
    });
    return new ConsoleClient(client, path, stream);
  }

  /** One that is to open. */
  static async open(client: Client, path: string, query = ''): Promise<ConsoleClient> {
    const console = await ConsoleClient.ask(client, path, query);
    assert.equal(console.stream.status, 200, console.stream.text);
    assert.equal(console.stream.events[0]?.event, 'session');
    return console;
  }

  get id(): string {
    return this.stream.sessionId;
  }

  get text(): string {
    return this.stream.log;
  }

  /** The last event, when the stream has ended. */
  get last(): string | undefined {
    return this.stream.ended ? this.stream.events.at(-1)?.event : undefined;
  }

  get code(): string {
    return (JSON.parse(this.stream.text) as Problem).code;
  }

  post(body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.client.ask(this.path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  async type(data: string): Promise<void> {
    const { status, text } = await this.post({ sessionId: this.id, data });
    assert.equal(status, 204, text);
  }

  async resize(cols: number, rows: number): Promise<void> {
    const { status, text } = await this.post({ sessionId: this.id, resize: { cols, rows } });
    assert.equal(status, 204, text);
  }

  delete(client = this.client): Promise<Answer> {
    return client.ask(`${this.path}?sessionId=${this.id}`, { method: 'DELETE' });
  }

  async sees(text: string | RegExp): Promise<void> {
    const found = (): boolean =>
      typeof text === 'string' ? this.text.includes(text) : text.test(this.text);
    try {
      await eventually(String(text), found, 60_000);
    } catch (error) {
      throw new Error(`never saw ${String(text)} in ${JSON.stringify(this.text.slice(-500))}`, {
        cause: error,
      });
    }
  }

  async ends(event: 'exit' | 'failure'): Promise<void> {
    await eventually(`its end, after ${this.stream.events.at(-1)?.event ?? 'nothing'}`, () => {
      return this.stream.ended;
    });
    assert.equal(this.last, event);
  }

  /** The connection breaks. */
  drop(): void {
    this.stream.close();
  }

  /** Comes back to it with a new stream. */
  async back(query = ''): Promise<ConsoleClient> {
    const again = `?sessionId=${this.id}${query}`;
    return await ConsoleClient.ask(this.client, this.path, again);
  }
}

export function codeOf(answer: Pick<Answer, 'status' | 'text'>): string {
  return `${String(answer.status)} ${(JSON.parse(answer.text) as Problem).code}`;
}
