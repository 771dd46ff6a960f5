/**
 * Makes a start need neither the type stripper nor the compiler, by what both made at an earlier one.
 *
 * Loaded by `node --import`, in worker threads too. Node strips types at every start; for a few
 * hundred files that costs half a second of CPU and 35 MB that the stripper keeps. Relative imports name
 * whole files: they are not looked up, which took a sixth of a start.
 *
 * `node src/strip-cache.mjs` fills it, after an install.
 */
import fs from 'node:fs';
import module from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { keptIn, placeOf, stripped } from './lib/stripped-source.mjs';
import { checkNode } from './node-version.mjs';

checkNode();
// Behind the check, since an older Node does not have them.
const { enableCompileCache, registerHooks } = module;

function fill() {
  const folder = path.dirname(fileURLToPath(import.meta.url));
  const sources = fs
    .readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => fs.readFileSync(path.join(folder, name), 'utf8'));
  const wanted = new Set(sources.map((source) => path.basename(placeOf(source))));
  for (const source of sources) stripped(source);
  for (const name of fs.readdirSync(keptIn)) {
    if (name.endsWith('.js') && !wanted.has(name)) fs.rmSync(path.join(keptIn, name));
  }
}

try {
  fs.mkdirSync(keptIn, { recursive: true });
} catch {
  // A read-only folder: nothing is kept.
}
enableCompileCache(path.join(keptIn, 'compiled'));
registerHooks({
  resolve(specifier, context, nextResolve) {
    const isWhole =
      specifier.startsWith('.') &&
      /\.(ts|m?js)$/.test(specifier) &&
      // What is required may name a file by a link, or by less.
      context.conditions.includes('import') &&
      context.parentURL?.startsWith('file:');
    if (!isWhole) return nextResolve(specifier, context);
    const { href: url } = new URL(specifier, context.parentURL);
    if (specifier.endsWith('.ts')) return { url, format: 'module', shortCircuit: true };
    return { url, shortCircuit: true };
  },
  load(url, context, nextLoad) {
    const ours = url.startsWith('file:') && url.endsWith('.ts') && !url.includes('/node_modules/');
    if (!ours) return nextLoad(url, context);
    const source = stripped(fs.readFileSync(fileURLToPath(url), 'utf8'));
    return { format: 'module', source, shortCircuit: true };
  },
});

if (process.argv[1] === fileURLToPath(import.meta.url)) fill();
