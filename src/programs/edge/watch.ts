/** Owns the time in whole seconds, so that noting when something came, and dating an answer, costs nothing. */
import { type Clock, every } from '../../lib/clock.ts';

export interface Watched {
  /** Called each second. */
  look(nowS: number): void;
}

const days = 'Sun Mon Tue Wed Thu Fri Sat'.split(' ');
const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

export class Watch {
  /** Since it was made. */
  nowS = 0;
  /** The time of day for `Date` (RFC 9110, 5.6.7). */
  date: string;
  readonly #watched = new Set<Watched>();
  readonly #stop: () => void;

  constructor(clock: Clock) {
    this.date = dateOf(clock);
    this.#stop = every(clock, 1000, () => {
      this.nowS++;
      this.date = dateOf(clock);
      for (const watched of this.#watched) watched.look(this.nowS);
    });
  }

  add(watched: Watched): void {
    this.#watched.add(watched);
  }

  delete(watched: Watched): void {
    this.#watched.delete(watched);
  }

  close(): void {
    this.#stop();
  }
}

/** Without `toUTCString`, with which V8 takes up time zones: 1 MiB. */
function dateOf(clock: Clock): string {
  const date = new Date(clock.now());
  const two = (part: number): string => String(part).padStart(2, '0');
  const time = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()].map(two).join(':');
  const [day, month] = [days[date.getUTCDay()] ?? '', months[date.getUTCMonth()] ?? ''];
  return `${day}, ${two(date.getUTCDate())} ${month} ${String(date.getUTCFullYear())} ${time} GMT`;
}
