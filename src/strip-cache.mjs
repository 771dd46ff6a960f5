/**
 * Owns the JavaScript of our TypeScript files: stripped once, kept below node_modules/.cache.
 *
 * Loaded by `node --import`, in worker threads too. Node strips types at every start; for a few
 * hundred files that costs half a second of CPU and 35 MB that the stripper keeps. With what is
 * kept here a start needs neither. It is plain JavaScript, so that the stripper is not loaded for it.
 *
 * 1. What is kept is named by a hash of its source and of Node's version: never stale.
 * 2. Our own relative imports name whole files: they are not looked up, which took a sixth of a start.
 * 3. Where nothing can be kept (a read-only folder), files are stripped each time.
 *
 * `node src/strip-cache.mjs` fills it, after an install.
 */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import module from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkNode } from './node-version.mjs';

checkNode();
// Behind the check, since an older Node does not have them.
const { enableCompileCache, registerHooks, stripTypeScriptTypes } = module;

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const kept = path.join(root, 'node_modules', '.cache', 'gangway', `node-${process.version}`);

/** @param {string} source */
const placeOf = (source) =>
  path.join(kept, `${createHash('sha256').update(source).digest('hex').slice(0, 32)}.js`);

/** @param {string} source @returns {string} */
function strip(source) {
  const place = placeOf(source);
  try {
    return fs.readFileSync(place, 'utf8');
  } catch {
    // Not kept yet.
  }
  const code = stripTypeScriptTypes(source);
  try {
    const fresh = `${place}.${process.pid}`;
    fs.writeFileSync(fresh, code);
    fs.renameSync(fresh, place);
  } catch {
    // Nothing can be kept here; it is stripped again next time.
  }
  return code;
}

function fill() {
  const sources = fs
    .readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => fs.readFileSync(path.join(root, 'src', name), 'utf8'));
  const wanted = new Set(sources.map((source) => path.basename(placeOf(source))));
  for (const source of sources) strip(source);
  for (const name of fs.readdirSync(kept)) {
    if (name.endsWith('.js') && !wanted.has(name)) fs.rmSync(path.join(kept, name));
  }
}

try {
  fs.mkdirSync(kept, { recursive: true });
} catch {
  // Invariant 3.
}
enableCompileCache(path.join(kept, 'compiled'));
registerHooks({
  resolve(specifier, context, nextResolve) {
    const ours =
      specifier.startsWith('.') &&
      specifier.endsWith('.ts') &&
      context.parentURL?.startsWith('file:');
    if (!ours) return nextResolve(specifier, context);
    return {
      url: new URL(specifier, context.parentURL).href,
      format: 'module',
      shortCircuit: true,
    };
  },
  load(url, context, nextLoad) {
    const ours = url.startsWith('file:') && url.endsWith('.ts') && !url.includes('/node_modules/');
    if (!ours) return nextLoad(url, context);
    const source = strip(fs.readFileSync(fileURLToPath(url), 'utf8'));
    return { format: 'module', source, shortCircuit: true };
  },
});

if (process.argv[1] === fileURLToPath(import.meta.url)) fill();
