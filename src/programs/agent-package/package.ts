/**
 * Owns the agent as one file for a machine with Node alone: our programs as plain JavaScript, and the packages that they
 * import, compressed, with a few lines before them that unpack it all below the agent's data directory and start it.
 *
 * It is no bundle: files lie beside each other as they do here, so that programs find each other, and threads their
 * tasks, in the same way.
 */
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';

import { hashOf, packagesOf, programFiles } from '../../lib/program-files.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
/** What is started by a path that is put together. */
const entries = [
  'programs/agent/main',
  'programs/runner/main',
  'programs/runner/limits/launcher',
  'programs/terminals/main',
  'programs/edge/main',
  'programs/static/main',
  'programs/sql-prompt/main',
];
/** An agent looks for it where its machine has it. */
const left: ReadonlySet<string> = new Set(['npm', 'node']);
const useful = /\.(js|cjs|mjs|json|node|so|wasm)$/;
const useless = /(^|\/)(tests?|benchmarks?|examples?|docs?|umd)\//;

interface PackedFile {
  name: string;
  /** Base64 where the bytes are no text. */
  text?: string;
  bytes?: string;
}

export interface AgentPackage {
  version: string;
  /** Of its content. */
  hash: string;
  code: string;
}

export function agentPackage(): AgentPackage {
  const programs = programFiles(entries, true);
  const { version } = manifestIn(root);
  const files: PackedFile[] = [
    {
      name: 'package.json',
      text: `${JSON.stringify({ name: 'gangway-agent', version, type: 'module' })}\n`,
    },
    ...programs.map(({ name, code }) => ({ name: `src/${name}`, text: code })),
    ...packedPackages(packagesOf(programs)),
  ];
  const hash = hashOf(files);
  const packed = brotliCompressSync(JSON.stringify(files), {
    params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 22 },
  });
  return { version, hash, code: starter({ version, hash, packed: packed.toString('base64') }) };
}

/** With all that they depend on, as far as it is installed. */
function packedPackages(names: readonly string[]): PackedFile[] {
  const pending = names.map((name) => ({ name, from: root }));
  const files = new Map<string, PackedFile>();
  const done = new Set<string>();
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const folder = folderOf(next.name, next.from);
    if (folder === null || done.has(folder) || left.has(next.name)) continue;
    done.add(folder);
    for (const file of fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      const whole = path.join(folder, file);
      const isOwn = !file.split(path.sep).includes('node_modules');
      if (!isOwn || useless.test(file) || !useful.test(file) || !fs.statSync(whole).isFile())
        continue;
      const name = path.relative(root, whole);
      files.set(name, packedFile(name, fs.readFileSync(whole)));
    }
    const { dependencies = {}, optionalDependencies = {} } = manifestIn(folder);
    const all = Object.keys({ ...dependencies, ...optionalDependencies });
    pending.push(...all.map((name) => ({ name, from: folder })));
  }
  return [...files.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function packedFile(name: string, bytes: Buffer): PackedFile {
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes)
    ? { name, text }
    : { name, bytes: bytes.toString('base64') };
}

interface Manifest {
  version: string;
  dependencies?: Readonly<Record<string, string>>;
  optionalDependencies?: Readonly<Record<string, string>>;
}

function manifestIn(folder: string): Manifest {
  return JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8')) as Manifest;
}

/** Null where it is not installed: an optional one. */
function folderOf(name: string, from: string): string | null {
  for (const modules of createRequire(path.join(from, 'package.json')).resolve.paths(name) ?? []) {
    const folder = path.join(modules, name);
    if (fs.existsSync(path.join(folder, 'package.json'))) return folder;
  }
  return null;
}

/**
 * The whole file. What was unpacked once is used again; what is older is removed, but for the modules that the program of
 * a runner still leads to.
 */
function starter({
  version,
  hash,
  packed,
}: {
  version: string;
  hash: string;
  packed: string;
}): string {
  return `#!/usr/bin/env node
// The agent of Gangway ${version}. It unpacks itself below its data directory.
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';

const packed = '${packed}';
const args = process.argv.slice(2);
const dataDir = args[args.indexOf('--data-dir') + 1];

function end(code, text) {
  process.stderr.write(text + '\\n');
  process.exit(code);
}

function unpack(folder) {
  const fresh = folder + '.new-' + process.pid;
  for (const { name, text, bytes } of JSON.parse(brotliDecompressSync(Buffer.from(packed, 'base64')))) {
    const file = path.join(fresh, name);
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    fs.writeFileSync(file, text ?? Buffer.from(bytes, 'base64'), { mode: 0o600 });
  }
  try {
    fs.renameSync(fresh, folder);
  } catch (error) {
    fs.rmSync(fresh, { recursive: true, force: true });
    if (!fs.existsSync(folder)) throw error;
  }
}

function led(runner) {
  if (!fs.existsSync(runner)) return [];
  return fs.readdirSync(runner).flatMap((name) => {
    try {
      return [fs.readlinkSync(path.join(runner, name, 'node_modules'))];
    } catch {
      return []; // It is no program.
    }
  });
}

function removeOthers(programs, folder) {
  const used = led(path.join(dataDir, 'runner'));
  for (const name of fs.readdirSync(programs)) {
    const other = path.join(programs, name);
    if (other === folder || used.some((one) => one.startsWith(other + path.sep))) continue;
    fs.rmSync(other, { recursive: true, force: true });
  }
}

if (Number(process.versions.node.split('.')[0]) < 22) end(1, 'The agent of Gangway needs Node.js 22; this is ' + process.version + '.');
if (args.includes('--version')) {
  process.stdout.write('${version}\\n');
} else if (!args.includes('--data-dir') || !path.isAbsolute(dataDir ?? '')) {
  end(2, '--data-dir has to be an absolute folder.');
} else {
  const programs = path.join(dataDir, 'agent', 'programs');
  fs.mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  fs.mkdirSync(programs, { recursive: true, mode: 0o700 });
  const folder = path.join(programs, '${hash}');
  if (!fs.existsSync(folder)) unpack(folder);
  removeOthers(programs, folder);
  await import(pathToFileURL(path.join(folder, 'src/programs/agent/main.js')).href);
}
`;
}
