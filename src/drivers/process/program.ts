/**
 * Owns our programs as they are started outside of this process: plain JavaScript. Those of the runner and of its edge
 * lie in folders of their own below the data directory, named after their content.
 *
 * The runner is long-lived and small: without the type stripper in its memory it needs 15 MB less,
 * and it does not read files of a clone that may be updated while it runs.
 */
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

import { hashOf, type ProgramFile, programFiles } from '../../lib/program-files.ts';

const require = createRequire(import.meta.url);
const entryName = path.join('programs', 'runner', 'main');
/** Started by the runner, not imported. */
const terminalsName = path.join('programs', 'terminals', 'main');
const edgeName = path.join('programs', 'edge', 'main');
const launcherName = path.join('programs', 'runner', 'limits', 'launcher');

/**
 * Copies the program of the runner below `dir` unless it is there, and returns the file to give to node. Programs of
 * other content are removed: one that runs has read all its files.
 */
export function prepareRunnerProgram(dir: string): string {
  const folder = prepare(dir, 'program', [entryName, terminalsName, edgeName, launcherName]);
  removeOthers(dir, 'program', folder);
  return path.join(dir, folder, `${entryName}.js`);
}

/** The same for the edge alone. `keepOnly` removes the others, once no runner starts them any more. */
export function prepareEdgeProgram(dir: string): { entry: string; keepOnly: () => void } {
  const folder = prepare(dir, 'edge', [edgeName]);
  const entry = path.join(dir, folder, `${edgeName}.js`);
  return { entry, keepOnly: () => removeOthers(dir, 'edge', folder) };
}

function prepare(dir: string, kind: string, entries: readonly string[]): string {
  const files = programFiles(entries);
  const folder = `${kind}-${hashOf(files)}`;
  const target = path.join(dir, folder);
  if (!fs.existsSync(target)) write(path.join(dir, `${kind}-new-`), target, files);
  return folder;
}

function removeOthers(dir: string, kind: string, folder: string): void {
  for (const name of fs.readdirSync(dir)) {
    if (name.startsWith(`${kind}-`) && name !== folder) {
      fs.rmSync(path.join(dir, name), { recursive: true, force: true });
    }
  }
}

function write(prefix: string, target: string, files: readonly ProgramFile[]): void {
  const fresh = fs.mkdtempSync(prefix);
  for (const { name, code } of files) {
    const file = path.join(fresh, name);
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    fs.writeFileSync(file, code, { mode: 0o600 });
  }
  fs.writeFileSync(path.join(fresh, 'package.json'), '{ "type": "module" }\n');
  const modules = path.join(require.resolve('cbor-x/package.json'), '../..');
  fs.symlinkSync(modules, path.join(fresh, 'node_modules'));
  try {
    fs.renameSync(fresh, target);
  } catch (error) {
    // Another process was faster; its copy is the same.
    fs.rmSync(fresh, { recursive: true, force: true });
    if (!fs.existsSync(target)) throw error;
  }
}
