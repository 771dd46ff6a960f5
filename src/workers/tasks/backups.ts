/** The entry point of the threads of backups and restores: each does one piece of work, and ends. */
import { createReadStream } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { TreeWriter } from '../../archives/extracting/tree-writer.ts';
import { openInThread } from '../../backups/destinations/open.ts';
import { checkArtifact } from '../../backups/restores/artifact-check.ts';
import { fetchArtifact } from '../../backups/restores/fetched.ts';
import { verifyArtifact } from '../../backups/runs/artifact.ts';
import { decrypted } from '../../backups/streams/age/decrypted.ts';
import { gunzipped } from '../../backups/streams/gunzipped.ts';
import { inBlocks, ofFolder, type TarMissed } from '../../backups/tar/tar-tree.ts';
import { tarEntries } from '../../backups/tar/tar-entries.ts';
import { TreeOfTar } from '../../backups/tar/tree-of-tar.ts';
import type {
  ArtifactFile,
  BackupTask,
  FromBackupThread,
  MissedEntries,
  ReadTree,
  ToBackupThread,
  TreeStep,
} from '../../backups/threads/messages.ts';
import { callInThisThread } from '../../lib/untrusted-files/calls.ts';
import { Folder, within } from '../../lib/untrusted-files/folder.ts';
import { handOverTree, removeTree } from '../../lib/untrusted-files/remove.ts';
import { asFailure } from '../task-failure.ts';

// `nice` values: where threads compete, those that serve come first, and a backup takes what others leave.
const priorities: Record<BackupTask['kind'], number> = {
  ...{ tree: constants.priority.PRIORITY_LOW, verify: constants.priority.PRIORITY_LOW },
  ...{ fetch: 5, check: 5, fill: 5, read: 5, write: 5, handOver: 5, remove: 5 },
};
const readBytes = 256 * 1024;
/** How far a verification is, is told in steps of this. */
const tellBytes = 4 * 2 ** 20;
const task = workerData as BackupTask;

const stop = new AbortController();
const steps: (TreeStep[] | null)[] = [];
const pieces: (Uint8Array | null)[] = [];
let room = 0;
let wake: () => void = () => undefined;

// Only on Linux does the priority apply to the calling thread alone.
if (process.platform === 'linux') setPriority(priorities[task.kind]);
parentPort?.on('message', (message: ToBackupThread) => {
  if (message.type === 'stop') stop.abort(new Error('Nobody waits for it any more'));
  else if (message.type === 'room') room += message.bytes;
  else if (message.type === 'bytes') pieces.push(message.bytes);
  else steps.push(message.steps);
  wake();
});

try {
  post({ type: 'done', outcome: await work(task) });
} catch (error) {
  post({ type: 'failed', failure: asFailure(error) });
}
parentPort?.close();

function post(message: FromBackupThread, transfer: ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transfer);
}

/** Resolves with the next message. */
async function news(): Promise<void> {
  stop.signal.throwIfAborted();
  await new Promise<void>((resolve) => (wake = resolve));
  stop.signal.throwIfAborted();
}

function work(task: BackupTask): Promise<unknown> {
  switch (task.kind) {
    case 'tree':
      return sendTree(task.tree);
    case 'verify':
      return verify(task);
    case 'fetch':
      return fetch(task);
    case 'check':
      return checkArtifact(unpacked(task.artifact), task.wanted);
    case 'read':
      return sendUnpacked(task.artifact);
    case 'fill':
      return fill(task.path, task.uid);
    case 'write':
      return write(task.path);
    case 'handOver':
      callInThisThread();
      return handOverTree(task.path, task.uid);
    case 'remove':
      callInThisThread();
      return removeTree(task.path);
  }
}

function unpacked({ path, recoveryKey }: ArtifactFile): AsyncIterable<Uint8Array> {
  const packed = packedIn(path);
  return gunzipped(recoveryKey === null ? packed : decrypted(packed, recoveryKey));
}

async function* packedIn(path: string): AsyncGenerator<Uint8Array> {
  const { signal } = stop;
  for await (const chunk of createReadStream(path, { signal, highWaterMark: readBytes })) {
    const bytes = chunk as Buffer;
    post({ type: 'read', bytes: bytes.length });
    yield bytes;
  }
}

async function sendUnpacked(artifact: ArtifactFile): Promise<void> {
  for await (const piece of unpacked(artifact)) {
    await hasRoom();
    // The library may still use the memory around it.
    send(new Uint8Array(piece));
  }
}

/** It makes its calls itself, and so hears no message before it waits for room. */
async function sendTree(of: ReadTree): Promise<MissedEntries> {
  callInThisThread();
  const { root, name, prefix, leaves, faithful = false, holesMaxBytes = Infinity } = of;
  const missed: MissedEntries = {};
  let holesLeft = holesMaxBytes;
  const tree = {
    faithful,
    leaves: (path: string) => leaves?.test(path) === true,
    takesHoles: (bytes: number) => bytes <= holesLeft && (holesLeft -= bytes) >= 0,
    missed: (_path: string, why: TarMissed) => (missed[why] = (missed[why] ?? 0) + 1),
  };
  const folder = within(Folder.open(root), (above) => above.folder(name));
  for await (const block of inBlocks(ofFolder(folder, prefix, tree))) {
    await hasRoom();
    send(block);
  }
  return missed;
}

async function hasRoom(): Promise<void> {
  while (room <= 0) await news();
}

function send(bytes: Uint8Array<ArrayBuffer>): void {
  room -= bytes.length;
  post({ type: 'chunk', bytes }, [bytes.buffer]);
}

async function verify({ at, key, artifact }: Extract<BackupTask, { kind: 'verify' }>) {
  let told = 0;
  const progress = (bytes: number): void => {
    if (bytes - told < tellBytes) return;
    post({ type: 'read', bytes: bytes - told });
    told = bytes;
  };
  const destination = openInThread(at);
  await verifyArtifact(artifact, { destination, key, signal: stop.signal, progress });
}

async function fetch({ at, artifact, path }: Extract<BackupTask, { kind: 'fetch' }>) {
  const seen = (bytes: number): void => post({ type: 'read', bytes });
  await fetchArtifact(artifact, openInThread(at), path, seen, stop.signal);
}

async function fill(path: string, uid: number | null): Promise<void> {
  const tree = new TreeOfTar(path, {
    // Whose it is makes any link itself, and nobody follows it there.
    mayBeLink: () => true,
    ownerOf: () => null,
    modeOf: (_path, { mode }) => mode,
    syncs: false,
  });
  for await (const entry of tarEntries(sentPieces())) await tree.add(entry);
  await tree.finish();
  await chmod(path, 0o700);
  if (uid === null) return;
  callInThisThread();
  await handOverTree(path, uid);
}

async function* sentPieces(): AsyncGenerator<Uint8Array> {
  for (;;) {
    const piece = pieces.shift();
    if (piece === null) return;
    if (piece === undefined) await news();
    else {
      yield piece;
      post({ type: 'read', bytes: piece.length });
    }
  }
}

async function write(path: string): Promise<void> {
  const writer = new TreeWriter(path, null, () => stop.signal.throwIfAborted());
  try {
    for (;;) {
      const batch = steps.shift();
      if (batch === null) break;
      if (batch === undefined) await news();
      else {
        for (const step of batch) take(writer, step);
        post({ type: 'written' });
      }
    }
    writer.finish();
  } finally {
    writer.close();
  }
}

function take(writer: TreeWriter, step: TreeStep): void {
  switch (step.step) {
    case 'entry':
      return writer.entry(step.entry);
    case 'data':
      return writer.data(step.bytes);
    case 'end':
      return writer.endFile();
    case 'executable':
      return writer.executable(step.path);
    case 'symlink':
      writer.turnIntoSymlink(step.path, step.target);
  }
}
