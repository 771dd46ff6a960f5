/**
 * Owns one long-lived task of the bulk pool and the transfers that it serves, many at once.
 *
 * 1. A slow sender holds no thread. Its bytes are copied once, into slots of memory that both threads see:
 *    from there the bulk thread hashes them, reads them as an archive and writes them to disk. All
 *    transfers share the same slots.
 * 2. A sender that cannot stop in time finds no free slot. This thread then writes its bytes into its file,
 *    and the bulk thread reads them back when their turn comes. So memory is limited, no byte is lost, and
 *    this thread waits for nobody.
 * 3. Each transfer ends once: received, failed or aborted. Only a received file is left behind.
 * 4. A transfer that leaves too little of the disk free fails with STORAGE_FULL.
 * 5. When the bulk thread dies, its transfers fail with OVERLOADED, and this thread removes their files.
 */
import { closeSync, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { MessagePort } from 'node:worker_threads';
import { ServiceError } from '../../lib/errors.ts';
import { mustHaveRoom, roomWatch } from '../../lib/kept-free.ts';
import { writeAllSync } from '../../lib/write-all.ts';
import type { ReceivedFormat } from '../formats/format.ts';
import type { ArchiveLimits } from '../formats/limits.ts';
import { asFailure, fromFailure } from '../../workers/task-failure.ts';
import {
  type ReceivedFile,
  type ReceiveReply,
  type ReceiveRequest,
  slotBytes,
} from '../bulk-messages.ts';

export interface ReceiveOptions {
  format: ReceivedFormat;
  /** An existing folder, on the file system of the temporary one. */
  dir: string;
  /** The file's name in the folder. */
  blob: string;
  /** How many bytes come: refused at once where there is no room for them. */
  declaredBytes?: number;
  /** There is room again after `write` returned false. */
  onRoom(): void;
  /** The transfer failed before `end` was called: a refusal, or a fault of ours. */
  onFailure(error: Error): void;
}

export interface IncomingFile {
  /** Copies the bytes. Returns false when no more should be written until `onRoom`. */
  write(bytes: ArrayBuffer): boolean;
  /** Resolves once the file is checked, in its place and on disk; rejects as `onFailure` would. */
  end(): Promise<ReceivedFile>;
  /** Resolves once nothing of the transfer is left. May be called at any time, even twice. */
  abort(): Promise<void>;
}

export interface LaneOptions {
  port: MessagePort;
  /** See ServeTask. */
  memory: SharedArrayBuffer;
  limits: ArchiveLimits;
  temporaryDir: string;
  /** A sender is told to stop when it has this many unfinished bytes. */
  windowBytes: number;
  /** The last transfer is over. */
  onEmpty(): void;
}

type Phase =
  | { kind: 'open' }
  | { kind: 'ending'; resolve(file: ReceivedFile): void; reject(error: Error): void }
  | { kind: 'aborting' }
  /** A fault on this thread. The sender is told once the bulk thread has removed the files. */
  | { kind: 'failing'; error: Error }
  | { kind: 'over' };

/** A slot that is not full yet. The bulk thread has not been sent the bytes from `from` up to `to`. */
interface Filling {
  slot: number;
  from: number;
  to: number;
}

interface Transfer {
  id: number;
  options: ReceiveOptions;
  temporary: string;
  final: string;
  phase: Phase;
  /** The descriptor of the temporary file, for bytes that find no free slot. */
  fd: number;
  sizeBytes: number;
  /** See `roomWatch`. */
  came(bytes: number): void;
  filling: Filling | null;
  /** Bytes that were sent to the bulk thread and are not finished there. */
  inFlight: number;
  stopped: boolean;
  over: PromiseWithResolvers<undefined>;
}

export class BulkLane {
  readonly #options: LaneOptions;
  readonly #transfers = new Map<number, Transfer>();
  readonly #memory: Uint8Array;
  readonly #slots: number;
  readonly #freeSlots: number[];
  #last = 0;
  #dead = false;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#memory = new Uint8Array(options.memory);
    this.#slots = options.memory.byteLength / slotBytes;
    this.#freeSlots = Array.from({ length: this.#slots }, (_, slot) => slot);
    options.port.on('message', (reply: ReceiveReply) => this.#onReply(reply));
  }

  get transfers(): number {
    return this.#transfers.size;
  }

  get dead(): boolean {
    return this.#dead;
  }

  /** Throws STORAGE_FULL. */
  receive(options: ReceiveOptions): IncomingFile {
    const { temporaryDir } = this.#options;
    if (options.declaredBytes !== undefined) mustHaveRoom(temporaryDir, options.declaredBytes);
    const id = ++this.#last;
    const final = join(options.dir, options.blob);
    const temporary = join(temporaryDir, options.blob);
    const transfer: Transfer = {
      ...{ id, options, temporary, final },
      phase: { kind: 'open' },
      fd: openNew(temporary),
      sizeBytes: 0,
      came: roomWatch(temporaryDir),
      filling: null,
      inFlight: 0,
      stopped: false,
      over: Promise.withResolvers<undefined>(),
    };
    this.#transfers.set(id, transfer);
    const { format } = options;
    const { limits } = this.#options;
    this.#post({ type: 'begin', transfer: id, format, limits, temporary, final });
    return {
      write: (bytes) => this.#write(transfer, new Uint8Array(bytes)),
      end: () => this.#end(transfer),
      abort: () => this.#abort(transfer),
    };
  }

  /** Ends the task once its transfers are over. */
  close(): void {
    this.#dead = true;
    this.#options.port.close();
  }

  /** Aborts all transfers; resolves when nothing of them is left. */
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

  #write(transfer: Transfer, bytes: Uint8Array): boolean {
    if (this.#dead || !this.#mayGrow(transfer, bytes.length)) return true;
    for (let rest = bytes; rest.length > 0 && transfer.phase.kind === 'open';) {
      transfer.filling ??= this.#takeSlot(transfer);
      if (transfer.filling === null) {
        this.#spill(transfer, rest);
        break;
      }
      const { slot, to } = transfer.filling;
      const piece = rest.subarray(0, slotBytes - to);
      this.#memory.set(piece, slot * slotBytes + to);
      transfer.filling.to += piece.length;
      transfer.sizeBytes += piece.length;
      if (transfer.filling.to === slotBytes) this.#sendFilling(transfer);
      rest = rest.subarray(piece.length);
    }
    if (transfer.phase.kind !== 'open') return true;
    // While the bulk thread has work, only a full slot is sent; otherwise every slot at once.
    if (transfer.inFlight === 0) this.#sendFilling(transfer);
    // A sender that was told to stop continues only after `onRoom`.
    transfer.stopped ||=
      transfer.inFlight >= this.#options.windowBytes || this.#freeSlots.length < this.#slots / 4;
    return !transfer.stopped;
  }

  /** Gives the transfer up where the disk has no room for more. */
  #mayGrow(transfer: Transfer, bytes: number): boolean {
    if (transfer.phase.kind !== 'open') return false;
    try {
      transfer.came(bytes);
      return true;
    } catch (error) {
      this.#giveUp(transfer, error);
      return false;
    }
  }

  #takeSlot({ sizeBytes }: Transfer): Filling | null {
    const slot = this.#freeSlots.pop();
    const at = sizeBytes % slotBytes;
    return slot === undefined ? null : { slot, from: at, to: at };
  }

  #sendFilling(transfer: Transfer): void {
    if (transfer.filling === null) return;
    const { slot, from, to } = transfer.filling;
    transfer.filling = null;
    transfer.inFlight += to - from;
    this.#post({ type: 'chunk', transfer: transfer.id, slot, from, to });
  }

  /** Within a turn of the loop the socket library reads on while there is more, even when paused. */
  #spill(transfer: Transfer, bytes: Uint8Array): void {
    try {
      writeAllSync(transfer.fd, bytes, transfer.sizeBytes);
    } catch (error) {
      this.#giveUp(transfer, error);
      return;
    }
    transfer.sizeBytes += bytes.length;
    transfer.inFlight += bytes.length;
    this.#post({ type: 'spilled', transfer: transfer.id, bytes: bytes.length });
  }

  #giveUp(transfer: Transfer, error: unknown): void {
    transfer.phase = { kind: 'failing', error: fromFailure(asFailure(error)) };
    this.#post({ type: 'abort', transfer: transfer.id });
  }

  async #end(transfer: Transfer): Promise<ReceivedFile> {
    const { phase } = transfer;
    if (phase.kind === 'failing') {
      await transfer.over.promise;
      throw phase.error;
    }
    if (phase.kind !== 'open') throw new Error(`Cannot end a transfer: it is ${phase.kind}`);
    this.#sendFilling(transfer);
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
    if (reply.type === 'credit' && reply.slot !== null) this.#freeSlots.push(reply.slot);
    if (transfer === undefined) return;
    switch (reply.type) {
      case 'credit':
        transfer.inFlight -= reply.bytes;
        if (transfer.inFlight === 0) this.#sendFilling(transfer);
        this.#giveRoom();
        return;
      case 'received':
        if (transfer.phase.kind === 'ending') {
          const { sizeBytes, sha256, entries } = reply;
          transfer.phase.resolve({ sizeBytes, sha256, entries });
          this.#over(transfer);
        } else {
          // The abort came when the file was already in its place.
          void removeFiles(transfer).then(() => this.#over(transfer));
        }
        return;
      case 'failed':
        this.#fail(transfer, fromFailure(reply.failure));
        return;
      case 'aborted':
        if (transfer.phase.kind === 'failing') this.#fail(transfer, transfer.phase.error);
        else this.#over(transfer);
    }
  }

  #fail(transfer: Transfer, error: Error): void {
    const { phase } = transfer;
    this.#over(transfer);
    if (phase.kind === 'ending') phase.reject(error);
    else if (phase.kind === 'open') transfer.options.onFailure(error);
    else if (phase.kind === 'failing') transfer.options.onFailure(phase.error);
  }

  #over(transfer: Transfer): void {
    transfer.phase = { kind: 'over' };
    if (transfer.filling !== null) this.#freeSlots.push(transfer.filling.slot);
    transfer.filling = null;
    closeSync(transfer.fd);
    this.#transfers.delete(transfer.id);
    transfer.over.resolve(undefined);
    this.#giveRoom();
    if (this.#transfers.size === 0) this.#options.onEmpty();
  }

  /** Lets senders continue, once half of their window and half of all slots are free. */
  #giveRoom(): void {
    const { windowBytes } = this.#options;
    for (const transfer of this.#transfers.values()) {
      if (this.#freeSlots.length < this.#slots / 2) return;
      if (!transfer.stopped || transfer.inFlight > windowBytes / 2) continue;
      transfer.stopped = false;
      transfer.options.onRoom();
    }
  }

  #post(request: ReceiveRequest): void {
    if (!this.#dead) this.#options.port.postMessage(request);
  }
}

/** Fails when the path exists, so that nothing is written through somebody's link. */
function openNew(path: string): number {
  try {
    return openSync(path, 'wx', 0o600);
  } catch (error) {
    throw fromFailure(asFailure(error));
  }
}

async function removeFiles({ temporary, final }: Transfer): Promise<void> {
  for (const file of [temporary, final]) await rm(file, { force: true });
}
