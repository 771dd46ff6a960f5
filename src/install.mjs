/**
 * Owns what is installed in node_modules: what the lock file names, less what nothing here needs.
 *
 * `node src/install.mjs run` installs what serving needs, `all` also what tests and the bench need.
 * `node src/install.mjs finish` runs after every install, by the Node that Gangway brings.
 *
 * 1. What is there and whole stays as it is: a service that runs from it goes on.
 * 2. Below node_modules/.gangway stand the lock file that was installed and the files that must be
 *    there, for `run` and for `all`. install.sh asks them alone; they are gone while npm works.
 * 3. One process installs at a time; others wait for it.
 * 4. A signal ends npm, too. What is left half done is repaired by the next start.
 * 5. It is run by the Node of the machine, whatever that is.
 */
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {'run' | 'all'} Part
 * @typedef {{ version?: string, link?: boolean, dev?: boolean, optional?: boolean, inBundle?: boolean,
 *   os?: string[], cpu?: string[], libc?: string[] }} Entry
 */

process.chdir(path.dirname(path.dirname(fileURLToPath(import.meta.url))));
const modules = 'node_modules';
const machine = execFileSync('uname', ['-sm'], { encoding: 'utf8' }).trim();
const kept = path.join(modules, '.gangway', machine);
const claim = path.join(modules, '.gangway', 'installing');
const claimMaxMs = 30 * 60_000;
/** What install scripts and npm make, and so no package has. */
const made = [`${modules}/node/bin/node`, `${modules}/.bin/node`];
/** @type {Part[]} */
const parts = ['run', 'all'];
/** @type {Record<string, Entry>} */
const locked = JSON.parse(fs.readFileSync('package-lock.json', 'utf8')).packages;

/** @param {string[] | undefined} list @param {string} value */
function allows(list, value) {
  if (list === undefined || list.length === 0) return true;
  if (list.includes(`!${value}`)) return false;
  return list.includes(value) || list.every((one) => one.startsWith('!'));
}

/** @type {string | undefined} */
let libc;
function libcOfMachine() {
  const report = /** @type {{ header: { glibcVersionRuntime?: string } }} */ (
    process.report.getReport()
  );
  return (libc ??= report.header.glibcVersionRuntime === undefined ? 'musl' : 'glibc');
}

/** The packages of a part that this machine must have, by their places. @param {Part} part */
function wanted(part) {
  return Object.entries(locked).filter(([place, entry]) => {
    if (place === '' || entry.link || entry.inBundle) return false;
    if (part === 'run' && entry.dev) return false;
    const { os, cpu } = entry;
    if (!allows(os, process.platform) || !allows(cpu, process.arch)) return false;
    if (entry.libc !== undefined && !allows(entry.libc, libcOfMachine())) return false;
    // What is optional without saying for which machines comes with a package that says it.
    return !entry.optional || os !== undefined || cpu !== undefined;
  });
}

/** @param {string} place */
function versionAt(place) {
  try {
    return JSON.parse(fs.readFileSync(path.join(place, 'package.json'), 'utf8')).version;
  } catch {
    return null; // Not there, or only half.
  }
}

/**
 * The files that were there after the install. They are kept as a script: a shell that runs it looks
 * for each of them without another process.
 * @param {Part} part @returns {string[]}
 */
function filesOf(part) {
  try {
    const script = fs.readFileSync(path.join(kept, `${part}.files`), 'utf8');
    return [...script.matchAll(/'(.+)'/g)].map(([, file = '']) => file);
  } catch {
    return [];
  }
}

/** The place of the package that a file is of, or comes by. @param {string} file */
function ownerOf(file) {
  if (made.includes(file)) return `${modules}/node`;
  let place = file;
  while (place !== '.' && locked[place] === undefined) place = path.dirname(place);
  return place === '.' ? '' : place;
}

/** Places of packages that are missing, of another version, or lack a file. @param {Part} part */
function broken(part) {
  const packages = wanted(part);
  const found = packages.filter(([place, { version }]) => versionAt(place) !== version);
  const lost = [...made, ...filesOf(part)].filter((file) => !fs.existsSync(file));
  const owners = lost.map(ownerOf).filter((place) => place !== '');
  return [...new Set([...found.map(([place]) => place), ...owners])];
}

/** @param {string} folder @param {(name: string) => boolean} unneeded */
function removeFrom(folder, unneeded) {
  if (!fs.existsSync(folder)) return;
  for (const name of fs.readdirSync(folder)) {
    if (unneeded(name)) fs.rmSync(path.join(folder, name), { recursive: true, force: true });
  }
}

/** The one binary of the HTTP server that the Node at hand loads, of two dozen. */
function server() {
  const { platform, arch, versions } = process;
  const name = `uws_${platform}_${arch}_${versions.modules}.node`;
  return `${modules}/uWebSockets.js/dist/bin/${name}`;
}

/** Takes away what only other machines, other versions of Node or builds of packages need. */
function prune() {
  const { platform, arch, versions } = process;
  const { dir, base } = path.parse(server());
  if (fs.existsSync(server())) removeFrom(dir, (name) => name !== base);
  // The binary is linked to node/bin; headers and the package that brought them stay behind.
  if (fs.existsSync(`${modules}/node/bin/node`))
    removeFrom(`${modules}/node/node_modules`, () => true);
  const otherLibc = libcOfMachine() === 'glibc' ? '.musl.' : '.glibc.';
  removeFrom(`${modules}/@lmdb/lmdb-${platform}-${arch}`, (name) => {
    const abi = /\.abi(\d+)\./.exec(name)?.[1];
    return name.includes(otherLibc) || (abi !== undefined && abi !== versions.modules);
  });
  // Pages load its bundle; what that is made of is not even installed.
  const bundle = /^(graphiql\.min\.(js|css)|package\.json|LICENSE|README\.md)$/;
  removeFrom(`${modules}/graphiql`, (name) => name !== modules && !bundle.test(name));
}

/** Writes down what is whole. */
function finish() {
  prune();
  fs.rmSync(kept, { recursive: true, force: true });
  fs.mkdirSync(kept, { recursive: true });
  for (const part of parts) {
    if (broken(part).length > 0) continue;
    const native = wanted(part).flatMap(([place, { os }]) =>
      os === undefined ? [] : fs.readdirSync(place).map((name) => `${place}/${name}`),
    );
    const manifests = wanted(part).map(([place]) => `${place}/package.json`);
    const files = [...new Set([...made, server(), ...manifests, ...native])];
    const script = files.map((file) => `[ -e '${file}' ] || return 1\n`).join('');
    fs.writeFileSync(path.join(kept, `${part}.files`), script);
    fs.copyFileSync('package-lock.json', path.join(kept, `${part}.lock`));
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}

/** Waits until nobody else installs here. */
async function claimed() {
  fs.mkdirSync(path.dirname(claim), { recursive: true });
  for (let waits = 0; ; waits += 1) {
    try {
      fs.writeFileSync(claim, String(process.pid), { flag: 'wx' });
      process.once('exit', () => fs.rmSync(claim, { force: true }));
      return;
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
    }
    try {
      const holder = Number(fs.readFileSync(claim, 'utf8'));
      const ageMs = Date.now() - fs.statSync(claim).mtimeMs;
      // One that is empty is being written.
      const holds = holder === 0 || isAlive(holder);
      if (!holds || ageMs > claimMaxMs) fs.rmSync(claim, { force: true });
      else if (waits === 0) console.log('Waiting for an install that is under way here …');
    } catch {
      // It was given up meanwhile.
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Runs a program to its end, with what it starts; a signal to us ends them all. @param {string[]} command */
function run(command) {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'], detached: true });
  /** @param {NodeJS.Signals} signal */
  const stop = (signal) => {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
    child.once('close', () => process.exit(signal === 'SIGINT' ? 130 : 143));
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  return new Promise((resolve) => {
    child.once('error', (error) => {
      console.error(`gangway: ${program} cannot be run: ${error.message}`);
      resolve(1);
    });
    child.once('close', (code) => {
      process.off('SIGINT', stop).off('SIGTERM', stop);
      resolve(code ?? 1);
    });
  });
}

/** @param {Part} part */
async function install(part) {
  await claimed();
  const missing = broken(part);
  if (missing.length > 0) {
    // Whoever has what tests need keeps it.
    const whole =
      part === 'all' || wanted('all').some(([place, { dev }]) => dev && fs.existsSync(place));
    console.log(
      `Installing ${missing.length} packages that ${whole ? 'tests and serving need' : 'serving needs'} …`,
    );
    fs.rmSync(kept, { recursive: true, force: true });
    // npm believes this file rather than the disk.
    fs.rmSync(`${modules}/.package-lock.json`, { force: true });
    for (const place of missing) fs.rmSync(place, { recursive: true, force: true });
    const npm = process.env['npm_execpath'];
    const command = npm?.endsWith('.js') === true ? [process.execPath, npm] : ['npm'];
    // What npm warns of, such as engines of the Node that Gangway does not run on, is nobody's to mend here.
    const options = [
      '--no-save',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      '--include=optional',
    ];
    const code = await run([
      ...command,
      'install',
      ...options,
      whole ? '--include=dev' : '--omit=dev',
    ]);
    if (code !== 0) return code;
  }
  const still = broken(part);
  if (still.length > 0) {
    console.error(
      `gangway: npm did not install ${still.join(', ')}. Are its scripts switched off (ignore-scripts)?`,
    );
    return 1;
  }
  return await run([`${modules}/.bin/node`, 'src/install.mjs', 'finish']);
}

const asked = process.argv[2];
if (asked === 'finish') finish();
else if (asked === 'run' || asked === 'all') process.exitCode = await install(asked);
else throw new Error('Usage: node src/install.mjs run | all | finish');
