/**
 * Owns avatars as they are asked for: drawn on a thread of their own, kept while they are wanted.
 *
 * 1. No thread runs before the first picture that is not kept; it ends when none was drawn for a while.
 * 2. A picture that several ask for at a time is drawn once.
 * 3. Kept pictures, and those that wait, are bounded; above that the answer is OVERLOADED.
 */
import { createHash } from 'node:crypto';
import type { Piscina } from 'piscina';
import { ServiceError } from '../../lib/errors.ts';
import { RecentMap } from '../../lib/recent-map.ts';
import type { AvatarDesign } from './designs.ts';

export interface DrawnAvatar {
  svg: Buffer;
  /** A strong entity tag, in quotes. */
  etag: string;
}

export type DrawAvatar = (design: AvatarDesign) => Promise<string>;

export interface AvatarsOptions {
  /** Default: a thread of DiceBear. */
  draw?: DrawAvatar;
  /** Pictures that are kept, of 2 to 7 kB each; default 1,000. */
  keptMax?: number;
  /** Pictures that may wait to be drawn; default 64. */
  waitingMax?: number;
}

const task = new URL('../tasks/avatar.ts', import.meta.url);
const idleMs = 20_000;

export class Avatars {
  readonly #kept: RecentMap<DrawnAvatar>;
  readonly #drawing = new Map<string, Promise<DrawnAvatar>>();
  readonly #waitingMax: number;
  readonly #draw: DrawAvatar;
  #piscina: Promise<Piscina> | null = null;

  constructor(options: AvatarsOptions = {}) {
    this.#kept = new RecentMap(options.keptMax ?? 1_000);
    this.#waitingMax = options.waitingMax ?? 64;
    this.#draw = options.draw ?? ((design) => this.#drawOnThread(design));
  }

  /** The picture where it is kept. */
  kept(design: AvatarDesign): DrawnAvatar | undefined {
    return this.#kept.get(keyOf(design));
  }

  /** The picture, drawn where it is not kept. Rejects with OVERLOADED. */
  async get(design: AvatarDesign): Promise<DrawnAvatar> {
    const key = keyOf(design);
    const there = this.#kept.get(key) ?? this.#drawing.get(key);
    if (there !== undefined) return there;
    if (this.#drawing.size >= this.#waitingMax) {
      throw new ServiceError('OVERLOADED', 'Too many new avatars are asked for. Try again soon.');
    }
    const drawing = this.#drawn(key, design);
    this.#drawing.set(key, drawing);
    try {
      return await drawing;
    } finally {
      this.#drawing.delete(key);
    }
  }

  async close(): Promise<void> {
    const piscina = await this.#piscina;
    await piscina?.destroy();
  }

  async #drawn(key: string, design: AvatarDesign): Promise<DrawnAvatar> {
    const svg = Buffer.from(await this.#draw(design));
    const etag = `"${createHash('sha256').update(svg).digest('base64url').slice(0, 22)}"`;
    const drawn = { svg, etag };
    this.#kept.set(key, drawn);
    return drawn;
  }

  async #drawOnThread(design: AvatarDesign): Promise<string> {
    const piscina = await (this.#piscina ??= startThread());
    return (await piscina.run(design, { name: 'drawAvatar' })) as string;
  }
}

async function startThread(): Promise<Piscina> {
  const { Piscina } = await import('piscina');
  return new Piscina({
    filename: task.href,
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: idleMs,
    resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 },
  });
}

/** No style or preset has a slash in its name. */
function keyOf({ style, preset, seed }: AvatarDesign): string {
  return `${style}/${preset}/${seed}`;
}
