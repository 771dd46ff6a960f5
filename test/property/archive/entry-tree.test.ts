import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../../src/lib/errors.ts';
import { EntryTree } from '../../../src/archives/formats/entry-tree.ts';
import { archiveLimits, Meter } from '../../../src/archives/formats/limits.ts';

// Few names, so that links lead to links.
const path = fc.constantFrom('a', 'b', 'c/a', 'c/b', 'd/a', 'd/c/a');
const ups = fc.integer({ min: 0, max: 2 }).map((count) => '/..'.repeat(count));
// Ways up, and ways up behind a path that may be a link itself: the text alone tells little of those.
const target = fc.oneof(
  ups.map((up) => `.${up}`),
  fc.tuple(path, ups).map(([to, up]) => `${to}${up}`),
  fc.tuple(ups, path, ups).map(([before, to, after]) => `.${before}/${to}${after}`),
);
const entry = fc.oneof(
  fc.record({ kind: fc.constant('file' as const), path, target }),
  fc.record({ kind: fc.constant('link' as const), path, target }),
);

/**
 * What the kernel makes of the same tree: the links whose end lies outside. (`realpathSync` without
 * `native` folds `x/..` by its text, which is just the mistake to be found.)
 */
function escapes(entries: { kind: string; path: string; target: string }[]): string[] {
  const outer = realpathSync(mkdtempSync(join(tmpdir(), 'gangway-tree-')));
  // The same names stand outside as well, so that a way out leads somewhere.
  for (const up of ['r', 'r/r', 'r/r/r', 'r/r/r/r']) {
    for (const name of ['a', 'b', 'c/a', 'c/b', 'd/a', 'd/c/a'])
      mkdirSync(join(outer, up, name), { recursive: true });
  }
  const root = join(outer, 'r/r/r/r/root');
  mkdirSync(root);
  try {
    for (const { kind, path: at, target: to } of entries) {
      mkdirSync(dirname(join(root, at)), { recursive: true });
      if (kind === 'file') writeFileSync(join(root, at), '');
      else symlinkSync(to, join(root, at));
    }
    return entries.flatMap(({ kind, path: at }) => {
      if (kind !== 'link') return [];
      try {
        const end = realpathSync.native(join(root, at));
        return end === root || end.startsWith(`${root}/`) ? [] : [at];
      } catch {
        // Leads to nothing, or in a circle.
        return [];
      }
    });
  } finally {
    rmSync(outer, { recursive: true, force: true });
  }
}

function allowed(action: () => void): boolean {
  try {
    action();
    return true;
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
}

describe('EntryTree', () => {
  it('lets no link out that the kernel would follow out', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(entry, { minLength: 2, maxLength: 8, size: 'max' }),
        async (entries) => {
          const tree = new EntryTree(new Meter(archiveLimits));
          // What is refused by itself is left out, so that the rest shows what it does together.
          const taken = entries.filter(({ kind, path: at, target: to }) =>
            allowed(() => {
              if (tree.has(at)) throw new ServiceError('ARCHIVE_CORRUPT', 'twice');
              if (kind === 'file') tree.addFile(at);
              else tree.addSymlink(at, to);
            }),
          );
          const isAllowed = await tree.finish().then(
            () => true,
            (error: unknown) =>
              allowed(() => {
                throw error;
              }),
          );
          if (isAllowed) assert.deepEqual(escapes(taken), []);
        },
      ),
      { numRuns: 400 },
    );
  });
});
