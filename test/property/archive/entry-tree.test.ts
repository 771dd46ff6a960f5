import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../../src/lib/errors.ts';
import { EntryTree } from '../../../src/protocol/archive/entry-tree.ts';
import { archiveLimits, Meter } from '../../../src/protocol/archive/limits.ts';

const part = fc.constantFrom('a', 'b', 'c');
const path = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
const target = fc
  .array(fc.constantFrom('a', 'b', 'c', '..', '..', '.'), { minLength: 1, maxLength: 5 })
  .map((parts) => parts.join('/'));
const entry = fc.oneof(
  fc.record({ kind: fc.constant('file' as const), path, target }),
  fc.record({ kind: fc.constant('link' as const), path, target }),
);

/** What the kernel makes of the same tree: the links whose end lies outside. */
function escapes(entries: { kind: string; path: string; target: string }[]): string[] {
  const outer = realpathSync(mkdtempSync(join(tmpdir(), 'gangway-tree-')));
  // The same names stand outside as well, so that a way out leads somewhere.
  for (const up of ['r', 'r/r', 'r/r/r', 'r/r/r/r']) {
    for (const name of ['a/a', 'b/b', 'c/c']) mkdirSync(join(outer, up, name), { recursive: true });
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
        const end = realpathSync(join(root, at));
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

describe('EntryTree', () => {
  it('lets no link out that the kernel would follow out', () => {
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 7 }), (entries) => {
        const tree = new EntryTree(new Meter(archiveLimits));
        try {
          for (const { kind, path: at, target: to } of entries) {
            if (tree.has(at)) return;
            if (kind === 'file') tree.addFile(at);
            else tree.addSymlink(at, to);
          }
          tree.finish();
        } catch (error) {
          if (error instanceof ServiceError) return;
          throw error;
        }
        assert.deepEqual(escapes(entries), []);
      }),
      { numRuns: 600 },
    );
  });
});
