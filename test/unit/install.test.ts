import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import manifest from '../../package.json' with { type: 'json' };

interface Entry {
  dev?: boolean;
  inBundle?: boolean;
  hasInstallScript?: boolean;
}

const { packages } = JSON.parse(
  readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'),
) as { packages: Record<string, Entry> };
const entries = Object.entries(packages).filter(([place]) => place !== '');
const nameOf = (place: string): string => place.split('node_modules/').at(-1) ?? '';
/** What `npm start` installs, at most: on one machine some of the optional ones are left out. */
const serving = entries.filter(([, { dev, inBundle }]) => !dev && !inBundle);

describe('the lock file', () => {
  it('brings nothing for serving that only tests or bundles of pages are made with', () => {
    const names = new Set(serving.map(([place]) => nameOf(place)));
    for (const name of ['vitest', 'vite', 'typescript', 'playwright-core', 'codemirror'])
      assert.ok(!names.has(name), name);
    // esbuild has one for each platform, Radix one for each part.
    assert.ok(serving.length <= 380, String(serving.length));
  });

  it('has no install script that package.json says nothing of', () => {
    const scripts = entries.filter(([, { hasInstallScript }]) => hasInstallScript);
    const unsaid = scripts
      .map(([place]) => nameOf(place))
      .filter((name) => !Object.hasOwn(manifest.allowScripts, name));
    assert.deepEqual(unsaid, []);
  });
});
