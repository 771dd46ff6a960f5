/**
 * Owns the way from the daemon's messages to lines for people: what BuildKit tells of its steps, and
 * what is pulled as a sum over all layers, about one line a second.
 */
import { type Clock, hasPassed } from '../../../lib/clock.ts';
import { BuildKitTrace, traceId } from './buildkit.ts';
import { LineReader } from '../logs/line-reader.ts';

interface Message {
  status?: string;
  id?: string;
  progressDetail?: { current?: number; total?: number };
  error?: string;
  errorDetail?: { message?: string };
  aux?: unknown;
}

interface Layer {
  current: number;
  total: number;
  done: boolean;
}

const everyMs = 1000;
const layersMax = 1000;
const megabyte = 1_000_000;
const layerStates =
  /^(Pulling fs layer|Waiting|Downloading|Verifying Checksum|Download complete|Extracting|Pull complete|Already exists|Retrying)/;
const doneStates = /^(Pull complete|Already exists)/;

/** Says all there is to say; resolves with the failure the daemon told, or null. */
export async function tellProgress(
  stream: AsyncIterable<unknown>,
  say: (line: string) => void,
  clock: Clock,
): Promise<string | null> {
  const messages = new LineReader();
  const progress = new ImageProgress(say, clock);
  for await (const chunk of stream) {
    for (const line of messages.push(chunk as Buffer)) progress.hear(JSON.parse(line) as Message);
  }
  for (const line of messages.end()) progress.hear(JSON.parse(line) as Message);
  progress.end();
  return progress.failure;
}

class ImageProgress {
  readonly #say: (line: string) => void;
  readonly #clock: Clock;
  readonly #layers = new Map<string, Layer>();
  #saidAtMs = -Infinity;
  #said = '';
  readonly #trace = new BuildKitTrace();
  failure: string | null = null;

  constructor(say: (line: string) => void, clock: Clock) {
    this.#say = say;
    this.#clock = clock;
  }

  hear(message: Message): void {
    const { status, error, errorDetail } = message;
    if (error !== undefined || errorDetail) this.failure = errorDetail?.message ?? error ?? '';
    if (message.id === traceId && typeof message.aux === 'string') {
      for (const line of this.#trace.push(message.aux)) this.#line(line);
    }
    if (status === undefined) return;
    if (message.id !== undefined && layerStates.test(status)) this.#layer(message.id, message);
    else if (!layerStates.test(status)) this.#line(status);
  }

  end(): void {
    if (this.#layers.size > 0) this.#sum();
    for (const line of this.#trace.end()) this.#line(line);
  }

  #line(line: string): void {
    this.#say(line.replace(/\r$/, ''));
  }

  #layer(id: string, { status = '', progressDetail }: Message): void {
    const known = this.#layers.get(id) ?? { current: 0, total: 0, done: false };
    if (this.#layers.size < layersMax) this.#layers.set(id, known);
    known.done = doneStates.test(status);
    if (status === 'Downloading') {
      known.current = progressDetail?.current ?? known.current;
      known.total = progressDetail?.total ?? known.total;
    } else if (status === 'Download complete' || known.done) {
      known.current = known.total;
    }
    if (hasPassed(this.#clock, this.#saidAtMs, everyMs)) this.#sum();
  }

  #sum(): void {
    const layers = [...this.#layers.values()];
    const done = layers.filter((layer) => layer.done).length;
    const of = (key: 'current' | 'total'): string =>
      (layers.reduce((sum, layer) => sum + layer[key], 0) / megabyte).toFixed(1);
    const line = `Pulling: ${done} of ${layers.length} layers, ${of('current')} of ${of('total')} MB`;
    if (line === this.#said) return;
    this.#said = line;
    this.#saidAtMs = this.#clock.now();
    this.#line(line);
  }
}
