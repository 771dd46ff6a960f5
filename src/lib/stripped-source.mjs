/**
 * Owns the JavaScript of our TypeScript files: stripped once, kept below node_modules/.cache. Plain
 * JavaScript, so that the stripper, which takes 35 MB, is loaded only for what is not kept yet.
 *
 * 1. What is kept is named by a hash of its source and of Node's version: never stale.
 * 2. Where nothing can be kept (a read-only folder), files are stripped each time.
 */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import module from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..');

export const keptIn = path.join(
  root,
  'node_modules',
  '.cache',
  'gangway',
  `node-${process.version}`,
);

/** The file that keeps the JavaScript of this source. @param {string} source */
export const placeOf = (source) =>
  path.join(keptIn, `${createHash('sha256').update(source).digest('hex').slice(0, 32)}.js`);

/** The source without its types. @param {string} source @returns {string} */
export function stripped(source) {
  const place = placeOf(source);
  try {
    return fs.readFileSync(place, 'utf8');
  } catch {
    // Not kept yet.
  }
  const code = module.stripTypeScriptTypes(source);
  try {
    const fresh = `${place}.${process.pid}`;
    fs.writeFileSync(fresh, code);
    fs.renameSync(fresh, place);
  } catch {
    // Invariant 2.
  }
  return code;
}
