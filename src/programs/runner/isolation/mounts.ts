/**
 * Owns what a workload sees of the machine's files, as lines for `mount --all` (fstab(5)).
 *
 * 1. Of the service's own folders it sees those that are its own, and the tools. All others lie behind an
 *    empty file system, whatever their modes are.
 * 2. A name that the workload could swap is never followed: what is mounted, and where, lies in folders that
 *    are ours.
 * 3. It opens terminals of its own, a few: the machine has some thousands, for consoles of others, too.
 */
import fs from 'node:fs';
import path from 'node:path';

export interface View {
  /** Folders of the service, without links: hidden. */
  hidden: readonly string[];
  /** Folders of the service that every workload sees; those that are there. */
  shared: readonly string[];
  /** `WorkloadSpec.files`. */
  own: { root: string; temp: string };
  /** Where it sees the terminals of the machine, on which its consoles run; null: the machine has none. */
  terminals: string | null;
}

export interface BoundFile {
  from: string;
  to: string;
}

/** Where folders wait while what they lie in is hidden. Covered at the end. */
const stage = '/dev/shm';
/** Where programs put what is nobody's. */
export const tempFolders = ['/tmp', '/var/tmp'];

const [ptmx, pts] = ['/dev/ptmx', '/dev/pts'];
/** Of the machine's memory, each; where control groups hold, their bounds come first. */
const tempSize = 'size=25%';
/** Where every user may make files, beside those. */
const lockFolder = '/run/lock';
/** Programs such as tmux and editors open some. */
const terminalsMax = 64;

/** The workload sees its own processes. */
export const ownProc = line('gangway-proc', '/proc', 'proc', 'nosuid,nodev,noexec');

/** Of a view of its own; undefined: files cannot be hidden there. */
export function viewMounts({ hidden, shared, own, terminals }: View): string[] | undefined {
  const kept = [own.root, ...shared];
  const places = [...hidden, ...kept];
  // Its own `/tmp` cannot be what our folders lie in: it could swap them.
  const bare = tempFolders.filter((temp) => places.some((place) => isWithin(place, temp)));
  if (places.some((place) => isWithin(place, stage))) return undefined;
  const empty = outermost([...bare, ...hidden]);
  return [
    line('gangway-stage', stage, 'tmpfs', 'mode=700'),
    ...kept.map((folder, at) => bind(folder, path.join(stage, String(at)))),
    ...empty.map((folder) =>
      line(
        'gangway',
        folder,
        'tmpfs',
        bare.includes(folder) ? `mode=1777,${tempSize}` : 'mode=711',
      ),
    ),
    ...kept.map((folder, at) => bind(path.join(stage, String(at)), folder)),
    ...tempFolders.filter((temp) => !bare.includes(temp)).map((temp) => bind(own.temp, temp)),
    ...(terminals === null ? [] : ownTerminals(terminals)),
    ...(places.some((place) => isWithin(place, lockFolder)) || !fs.existsSync(lockFolder)
      ? []
      : [line('gangway-lock', lockFolder, 'tmpfs', 'mode=1777,nosuid,nodev,noexec,size=5m')]),
    line('gangway-shm', stage, 'tmpfs', `mode=1777,nosuid,nodev,${tempSize}`),
  ];
}

/** Files that are ours in place of the machine's. */
export function fileMounts(files: readonly BoundFile[]): string[] {
  return files.map(bindFile);
}

/** Whether there are terminals of the machine to be kept apart from those of a workload. */
export function hasTerminals(): boolean {
  return [ptmx, `${pts}/ptmx`].every((file) => fs.existsSync(file));
}

/** What opens a terminal leads to its own: those of the machine in `folder` are there to be used only. */
function ownTerminals(folder: string): string[] {
  return [
    bind(pts, folder),
    bindFile({ from: '/dev/null', to: `${folder}/ptmx` }),
    line('gangway-pts', pts, 'devpts', `mode=620,ptmxmode=666,max=${String(terminalsMax)}`),
    bindFile({ from: `${pts}/ptmx`, to: ptmx }),
  ];
}

function bindFile({ from, to }: BoundFile): string {
  return line(from, to, 'none', 'bind');
}

/** Without those that lie in another one. */
function outermost(folders: readonly string[]): string[] {
  const all = [...new Set(folders)];
  return all.filter((one) => !all.some((other) => other !== one && isWithin(one, other)));
}

function isWithin(folder: string, other: string): boolean {
  return folder === other || folder.startsWith(`${other}/`);
}

function bind(from: string, to: string): string {
  return line(from, to, 'none', 'bind,X-mount.mkdir');
}

function line(source: string, target: string, type: string, options: string): string {
  return `${escaped(source)} ${escaped(target)} ${type} ${options} 0 0`;
}

/** Fields are parted by blanks. */
function escaped(text: string): string {
  return text.replace(/[\s\\#]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`);
}
