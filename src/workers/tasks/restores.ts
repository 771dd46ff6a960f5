/** The entry point of the threads of restores: each does one piece of work, and ends. */
import { createReadStream } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { TreeWriter } from '../../archives/extracting/tree-writer.ts';
import { checkArtifact } from '../../backups/restores/artifact-check.ts';
import { decrypted } from '../../backups/streams/age/decrypted.ts';
import { gunzipped } from '../../backups/streams/gunzipped.ts';
import type {
  ArtifactFile,
  FromRestoreThread,
  RestoreTask,
  ToRestoreThread,
  TreeStep,
} from '../../backups/threads/restore-messages.ts';
import { asFailure } from '../task-failure.ts';

// A `nice` value: where threads compete, those that serve come first.
const yieldingPriority = 5;
const readBytes = 256 * 1024;

const stop = new AbortController();
const steps: (TreeStep[] | null)[] = [];
let room = 0;
let wake: () => void = () => undefined;

// Only on Linux does the priority apply to the calling thread alone.
if (process.platform === 'linux') setPriority(yieldingPriority);
parentPort?.on('message', (message: ToRestoreThread) => {
  if (message.type === 'stop') stop.abort(new Error('The restore is over'));
  else if (message.type === 'room') room += message.bytes;
  else steps.push(message.steps);
  wake();
});

try {
  post({ type: 'done', outcome: await work(workerData as RestoreTask) });
} catch (error) {
  post({ type: 'failed', failure: asFailure(error) });
}
parentPort?.close();

function post(message: FromRestoreThread, transfer: ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transfer);
}

/** Resolves with the next message. */
async function news(): Promise<void> {
  stop.signal.throwIfAborted();
  await new Promise<void>((resolve) => (wake = resolve));
  stop.signal.throwIfAborted();
}

function work(task: RestoreTask): Promise<unknown> {
  switch (task.kind) {
    case 'check':
      return checkArtifact(unpacked(task.artifact), task.wanted);
    case 'read':
      return send(task.artifact);
    case 'write':
      return write(task.path);
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

async function send(artifact: ArtifactFile): Promise<void> {
  for await (const piece of unpacked(artifact)) {
    while (room <= 0) await news();
    // The library may still use the memory around it.
    const bytes = new Uint8Array(piece);
    room -= bytes.length;
    post({ type: 'chunk', bytes }, [bytes.buffer]);
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
