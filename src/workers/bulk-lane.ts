/**
 * Owns one long-lived task of the bulk pool and the transfers on it: many at once, by chunk.
 *
 * 1. A slow sender holds no thread; it holds at most `windowBytes` of memory, and all on a lane
 *    together hold about `laneBytes`: a sender that cannot stop in time is made to wait, for half a
 *    second of a turn at most.
 * 2. Each transfer ends once: received, failed, or aborted; then nothing but a received file is left.
 * 3. When the thread dies, its transfers fail with OVERLOADED and their files are removed from here.
 */
import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { ServiceError } from '../lib/errors.ts';
import type { ArchiveFormat } from '../protocol/archive/format.ts';
import type { ArchiveLimits } from '../protocol/archive/limits.ts';
import { fromFailure } from './bulk/failure.ts';
import { type ReceiveReply, type ReceiveRequest, reusedBytes } from './messages.ts';

const sparesMax = 8;
/** How long one turn of the loop may be held up for the thread to catch up. */
const waitMaxMs = 500;

export interface ReceiveOptions {
  format: ArchiveFormat;
  /** An existing folder, on the file system of the temporary one. */
  dir: string;
  /** The file's name in it. */
  blob: string;
  /** There is room again after `write` returned false. */
  onRoom(): void;
  /** It failed before `end` was called: a refusal, or a fault of ours. */
  onFailure(error: Error): void;
}

export interface ReceivedFile {
  sizeBytes: number;
  /** Hex. */
  sha256: string;
  entries: number;
}

export interface IncomingFile {
  /** A buffer of this length to fill and `write`, when one has come back. */
  spare(byteLength: number): ArrayBuffer | undefined;
  /** Takes the buffer over. Returns false when no more may be written until `onRoom`. */
  write(bytes: ArrayBuffer): boolean;
  /** Resolves once the file is checked, in its place and on disk; rejects as `onFailure` would. */
  end(): Promise<ReceivedFile>;
  /** Resolves once nothing is left of it. Fine at any time, also twice. */
  abort(): Promise<void>;
}

export interface LaneOptions {
  port: MessagePort;
  /** See ServeTask. */
  replies: SharedArrayBuffer;
  limits: ArchiveLimits;
  temporaryDir: string;
  windowBytes: number;
  laneBytes: number;
  /** The last transfer is over. */
  onEmpty(): void;
}

type Phase =
  | { kind: 'open' }
  | { kind: 'ending'; resolve(file: ReceivedFile): void; reject(error: Error): void }
  | { kind: 'aborting' }
  | { kind: 'over' };

interface Transfer {
  id: number;
  options: ReceiveOptions;
  temporary: string;
  final: string;
  phase: Phase;
  inFlight: number;
  stopped: boolean;
  over: PromiseWithResolvers<undefined>;
}

export class BulkLane {
  readonly #options: LaneOptions;
  readonly #transfers = new Map<number, Transfer>();
  /** Buffers that came back; kept while there are transfers. */
  readonly #spares: ArrayBuffer[] = [];
  #last = 0;
  #inFlight = 0;
  #dead = false;
  readonly #replies: Int32Array;
  #waitedMs = 0;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#replies = new Int32Array(options.replies);
    options.port.on('message', (reply: ReceiveReply) => {
      this.#onReply(reply);
    });
  }

  get transfers(): number {
    return this.#transfers.size;
  }

  get dead(): boolean {
    return this.#dead;
  }

  receive(options: ReceiveOptions): IncomingFile {
    const id = ++this.#last;
    const final = join(options.dir, options.blob);
    const temporary = join(this.#options.temporaryDir, options.blob);
    const transfer: Transfer = {
      ...{ id, options, temporary, final },
      phase: { kind: 'open' },
      inFlight: 0,
      stopped: false,
      over: Promise.withResolvers<undefined>(),
    };
    this.#transfers.set(id, transfer);
    const { format } = options;
    const { limits } = this.#options;
    this.#post({ type: 'begin', transfer: id, format, limits, temporary, final });
    return {
      spare: (byteLength) => (byteLength === reusedBytes ? this.#spares.pop() : undefined),
      write: (bytes) => this.#write(transfer, bytes),
      end: () => this.#end(transfer),
      abort: () => this.#abort(transfer),
    };
  }

  /** Ends the task once its transfers are over. */
  close(): void {
    this.#dead = true;
    this.#options.port.close();
  }

  /** Aborts what is under way; resolves when nothing is left of it. */
  async abortAll(): Promise<void> {
    await Promise.all([...this.#transfers.values()].map((transfer) => this.#abort(transfer)));
  }

  /** The thread is gone, with everything it knew. */
  async die(): Promise<void> {
    this.#dead = true;
    const lost = [...this.#transfers.values()];
    for (const transfer of lost) await removeFiles(transfer);
    const error = new ServiceError(
      'OVERLOADED',
      'The thread that received this upload ended. Send the archive again.',
    );
    for (const transfer of lost) this.#fail(transfer, error);
    this.#options.port.close();
  }

  #write(transfer: Transfer, bytes: ArrayBuffer): boolean {
    if (transfer.phase.kind !== 'open' || this.#dead) return true;
    transfer.inFlight += bytes.byteLength;
    this.#inFlight += bytes.byteLength;
    this.#post({ type: 'chunk', transfer: transfer.id, bytes }, [bytes]);
    if (this.#inFlight >= this.#options.laneBytes) this.#catchUp();
    // Who was told to stop is told to go on by `onRoom` alone.
    transfer.stopped ||=
      transfer.inFlight >= this.#options.windowBytes || this.#inFlight >= this.#options.laneBytes;
    return !transfer.stopped;
  }

  /**
   * Waits here and now until the thread has done most of what it was sent. The socket library reads on
   * within a turn while the sender keeps up, pause or not; without this all of that lay in memory.
   */
  #catchUp(): void {
    const { laneBytes, port } = this.#options;
    if (this.#waitedMs === 0) {
      setImmediate(() => {
        this.#waitedMs = 0;
        this.#giveRoom();
      });
    }
    const beganMs = performance.now();
    let leftMs = waitMaxMs - this.#waitedMs;
    while (leftMs > 0 && this.#inFlight > laneBytes / 4) {
      const seen = Atomics.load(this.#replies, 0);
      const received = receiveMessageOnPort(port) as { message: ReceiveReply } | undefined;
      if (received === undefined) Atomics.wait(this.#replies, 0, seen, leftMs);
      else this.#takeEarly(received.message);
      leftMs = waitMaxMs - this.#waitedMs - (performance.now() - beganMs);
    }
    this.#waitedMs = waitMaxMs - leftMs;
  }

  /** Credit counts at once; whatever else the thread says has to wait for its turn. */
  #takeEarly(reply: ReceiveReply): void {
    const transfer = this.#transfers.get(reply.transfer);
    if (reply.type === 'credit' && transfer !== undefined) this.#credit(transfer, reply);
    else setImmediate(() => this.#onReply(reply));
  }

  #credit(transfer: Transfer, { bytes, buffer }: { bytes: number; buffer?: ArrayBuffer }): void {
    transfer.inFlight -= bytes;
    this.#inFlight -= bytes;
    if (buffer !== undefined) this.#keep(buffer);
  }

  #end(transfer: Transfer): Promise<ReceivedFile> {
    if (transfer.phase.kind !== 'open') {
      return Promise.reject(new Error(`Cannot end a transfer: it is ${transfer.phase.kind}`));
    }
    return new Promise((resolve, reject) => {
      transfer.phase = { kind: 'ending', resolve, reject };
      this.#post({ type: 'end', transfer: transfer.id });
    });
  }

  async #abort(transfer: Transfer): Promise<void> {
    const { phase } = transfer;
    if (phase.kind === 'open' || phase.kind === 'ending') {
      transfer.phase = { kind: 'aborting' };
      if (phase.kind === 'ending') phase.reject(new Error('the transfer was aborted'));
      this.#post({ type: 'abort', transfer: transfer.id });
    }
    await transfer.over.promise;
  }

  #onReply(reply: ReceiveReply): void {
    const transfer = this.#transfers.get(reply.transfer);
    if (transfer === undefined) return;
    switch (reply.type) {
      case 'credit':
        this.#credit(transfer, reply);
        this.#giveRoom();
        return;
      case 'received':
        if (transfer.phase.kind === 'ending') {
          const { sizeBytes, sha256, entries } = reply;
          transfer.phase.resolve({ sizeBytes, sha256, entries });
          this.#over(transfer);
        } else {
          // Called off when it was already in its place.
          void removeFiles(transfer).then(() => {
            this.#over(transfer);
          });
        }
        return;
      case 'failed':
        this.#fail(transfer, fromFailure(reply.failure));
        return;
      case 'aborted':
        this.#over(transfer);
    }
  }

  #fail(transfer: Transfer, error: Error): void {
    const { phase } = transfer;
    this.#over(transfer);
    if (phase.kind === 'ending') phase.reject(error);
    else if (phase.kind === 'open') transfer.options.onFailure(error);
  }

  #over(transfer: Transfer): void {
    transfer.phase = { kind: 'over' };
    this.#inFlight -= transfer.inFlight;
    this.#transfers.delete(transfer.id);
    transfer.over.resolve(undefined);
    this.#giveRoom();
    if (this.#transfers.size > 0) return;
    this.#spares.length = 0;
    this.#options.onEmpty();
  }

  #keep(buffer: ArrayBuffer): void {
    if (this.#spares.length < sparesMax) this.#spares.push(buffer);
    else buffer.transfer(0);
  }

  /** Lets senders go on whose window, and the lane's, are half empty. */
  #giveRoom(): void {
    const { windowBytes, laneBytes } = this.#options;
    if (this.#inFlight > laneBytes / 2) return;
    for (const transfer of this.#transfers.values()) {
      if (!transfer.stopped || transfer.inFlight > windowBytes / 2) continue;
      transfer.stopped = false;
      transfer.options.onRoom();
      if (this.#inFlight >= laneBytes) return;
    }
  }

  #post(request: ReceiveRequest, transferred: ArrayBuffer[] = []): void {
    if (!this.#dead) this.#options.port.postMessage(request, transferred);
  }
}

async function removeFiles({ temporary, final }: Transfer): Promise<void> {
  for (const file of [temporary, final]) {
    await unlink(file).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    });
  }
}
