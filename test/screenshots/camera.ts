/** Owns pictures of pages: one load of a page, then all sizes and themes of it. */
import { join } from 'node:path';
import type { Page } from 'playwright-core';

export const sizes = [1440, 768, 390] as const;
export const themes = ['light', 'dark'] as const;

const heights = { 1440: 900, 768: 1024, 390: 844 } as const;
/** Of a picture. */
const highestPx = 4_000;
/** A page that takes longer has failed, also on a busy machine. */
export const restMs = 60_000;

export interface CameraOptions {
  out: string;
  /** Parts of names; none: all. */
  only: readonly string[];
  sizes: readonly (typeof sizes)[number][];
  themes: readonly (typeof themes)[number][];
}

export class Camera {
  taken = 0;
  /** What did not come to rest, in sentences. */
  readonly failures: string[] = [];
  readonly #options: CameraOptions;

  constructor(options: CameraOptions) {
    this.#options = options;
  }

  wants(name: string): boolean {
    const { only } = this.#options;
    return only.length === 0 || only.some((part) => name.includes(part));
  }

  /** All pictures of what `open` leads to. What fails is noted, and the next page is taken nevertheless. */
  async take(page: Page, state: string, name: string, open: () => Promise<void>): Promise<void> {
    if (!this.wants(name)) return;
    try {
      // What follows the size is made for the first one.
      await page.setViewportSize({ width: 1440, height: heights[1440] });
      await open();
      for (const width of this.#options.sizes) {
        await page.setViewportSize({ width, height: heights[width] });
        for (const colorScheme of this.#options.themes) {
          await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
          await page.evaluate(atRest);
          // As high as the page is, so that what has the height of the window has that of the picture.
          const high = await page.evaluate<number>('document.documentElement.scrollHeight');
          const height = Math.min(Math.max(high, heights[width]), highestPx);
          await page.setViewportSize({ width, height });
          await page.evaluate(atRest);
          const path = join(this.#options.out, state, `${name}-${width}-${colorScheme}.png`);
          await page.screenshot({ path });
          await page.setViewportSize({ width, height: heights[width] });
          this.taken += 1;
        }
      }
    } catch (error) {
      this.failures.push(`${state}/${name}: ${String(error).split('\n')[0] ?? ''}`);
    }
  }
}

/** Goes there, until its heading stands and nothing of it is being loaded. */
export async function goTo(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  const loading = page.locator('.skeleton, .splash').first();
  await loading.waitFor({ state: 'detached' });
  await page.evaluate(atRest);
}

/** Resolves once nothing of the document has changed for a while; what changes on and on is not waited for. */
const atRest = `new Promise((resolve) => {
  const quietMs = 150, mostMs = 2000;
  let timer = setTimeout(resolve, quietMs);
  const end = setTimeout(resolve, mostMs);
  new MutationObserver(() => {
    clearTimeout(timer);
    timer = setTimeout(resolve, quietMs);
  }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
})`;
