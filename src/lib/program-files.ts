/**
 * Owns the files of our own programs as plain JavaScript: those of a program and all that it imports, without types.
 *
 * What we run ourselves may be sources (a clone) or such files already (an agent); both give the same.
 */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { stripped } from './stripped-source.mjs';

export interface ProgramFile {
  /** Relative to `src`, with its ending. */
  name: string;
  code: string;
}

const sourceRoot = fileURLToPath(new URL('../', import.meta.url));
const relativeImport = /(\bfrom\s+|\bimport\s*\(?\s*)'(\.{1,2}\/[^']+)\.(ts|js|mjs)'/g;
/** What is started or read by its address, such as the task of a thread. */
const relativeAddress = /(\bnew URL\(\s*)'(\.{1,2}\/[^']+)\.(ts|js|mjs)'(?=,\s*import\.meta\.url)/g;

/** `entries`: relative to `src`, without ending. `follows`: also what is named by its address. */
export function programFiles(entries: readonly string[], follows = false): ProgramFile[] {
  const files = new Map<string, ProgramFile>();
  const pending = entries.map((entry) => existing(entry));
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    const isModule = name.endsWith('.mjs');
    const shipped = isModule ? name : `${name.slice(0, name.lastIndexOf('.'))}.js`;
    if (files.has(shipped)) continue;
    const source = fs.readFileSync(path.join(sourceRoot, name), 'utf8');
    const folder = path.dirname(name);
    const renamed = (_all: string, lead: string, target: string, ending: string): string => {
      pending.push(existing(path.join(folder, target), ending));
      return `${lead}'${target}.${ending === 'mjs' ? 'mjs' : 'js'}'`;
    };
    let code = isModule ? source : plain(name, source);
    code = code.replace(relativeImport, renamed);
    if (follows) code = code.replace(relativeAddress, renamed);
    files.set(shipped, { name: shipped, code });
  }
  return [...files.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

export function hashOf(files: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 16);
}

/** The packages that files import, by name. */
export function packagesOf(files: readonly ProgramFile[]): string[] {
  const found = new Set<string>();
  const imported =
    /(?:\bfrom\s+|\bimport\s*\(?\s*|\brequire(?:\.resolve)?\(\s*)'((?:@[\w.-]+\/)?[\w.-]+)(?:\/[^']*)?'/g;
  for (const { code } of files) {
    for (const [, name = ''] of code.matchAll(imported)) {
      if (!name.startsWith('.')) found.add(name);
    }
  }
  return [...found].sort();
}

function plain(name: string, source: string): string {
  return name.endsWith('.ts') ? stripped(source) : source;
}

/** With the ending that it has here. */
function existing(name: string, ending = 'ts'): string {
  if (ending === 'mjs') return `${name}.mjs`;
  return fs.existsSync(path.join(sourceRoot, `${name}.ts`)) ? `${name}.ts` : `${name}.js`;
}
