/**
 * Owns one long-lived task of the bulk pool and the transfers on it: many at once, by chunk.
 *
 * 1. A slow sender holds no thread. Bytes are copied once, into slots of memory that the thread reads
 *    and writes to disk from; there are `slots` of them, whatever the number of transfers.
 * 2. A sender that cannot stop in time finds no slot: its bytes go into its file from here, and the
 *    thread reads them back when their turn comes. So memory is bounded, and nothing waits.
 * 3. Each transfer ends once: received, failed, or aborted; then nothing but a received file is left.
 * 4. When the thread dies, its transfers fail with OVERLOADED and their files are removed from here.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { MessagePort } from 'node:worker_threads';
import { ServiceError } from '../../lib/errors.ts';
import type { ArchiveFormat } from '../formats/format.ts';
import type { ArchiveLimits } from '../formats/limits.ts';
import { asFailure, fromFailure } from '../failure.ts';
import { type ReceiveReply, type ReceiveRequest, slotBytes } from '../bulk-messages.ts';

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
  /** Copies the bytes. Returns false when no more should be written until `onRoom`. */
  write(bytes: ArrayBuffer): boolean;
  /** Resolves once the file is checked, in its place and on disk; rejects as `onFailure` would. */
  end(): Promise<ReceivedFile>;
  /** Resolves once nothing is left of it. Fine at any time, also twice. */
  abort(): Promise<void>;
}

export interface LaneOptions {
  port: MessagePort;
  /** See ServeTask. */
  memory: SharedArrayBuffer;
  limits: ArchiveLimits;
  temporaryDir: string;
  /** Bytes of one transfer that are on their way before its sender is told to stop. */
  windowBytes: number;
  /** The last transfer is over. */
  onEmpty(): void;
}

type Phase =
  | { kind: 'open' }
  | { kind: 'ending'; resolve(file: ReceivedFile): void; reject(error: Error): void }
  | { kind: 'aborting' }
  /** A fault on this side; told once the thread has removed what there is. */
  | { kind: 'failing'; error: Error }
  | { kind: 'over' };

/** A slot that is not full yet: what is new in it lies from `from` up to `to`. */
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
  /** Of the temporary file, to spill into. */
  fd: number;
  sizeBytes: number;
  filling: Filling | null;
  /** Bytes sent to the thread and not yet done with. */
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

  /** Throws STORAGE_FULL. */
  receive(options: ReceiveOptions): IncomingFile {
    const id = ++this.#last;
    const final = join(options.dir, options.blob);
    const temporary = join(this.#options.temporaryDir, options.blob);
    const transfer: Transfer = {
      ...{ id, options, temporary, final },
      phase: { kind: 'open' },
      fd: openNew(temporary),
      sizeBytes: 0,
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

  #write(transfer: Transfer, bytes: Uint8Array): boolean {
    if (this.#dead) return true;
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
    // While the thread has work, a slot goes when it is full.
    if (transfer.inFlight === 0) this.#sendFilling(transfer);
    // Who was told to stop is told to go on by `onRoom` alone.
    transfer.stopped ||=
      transfer.inFlight >= this.#options.windowBytes || this.#freeSlots.length < this.#slots / 4;
    return !transfer.stopped;
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

  /** The socket library reads on within a turn while the sender keeps up, pause or not. */
  #spill(transfer: Transfer, bytes: Uint8Array): void {
    try {
      for (let done = 0; done < bytes.length;) {
        const at = transfer.sizeBytes + done;
        done += writeSync(transfer.fd, bytes, done, bytes.length - done, at);
      }
    } catch (error) {
      transfer.phase = { kind: 'failing', error: fromFailure(asFailure(error)) };
      this.#post({ type: 'abort', transfer: transfer.id });
      return;
    }
    transfer.sizeBytes += bytes.length;
    transfer.inFlight += bytes.length;
    this.#post({ type: 'spilled', transfer: transfer.id, bytes: bytes.length });
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

  /** Lets senders go on whose window, and the lane's slots, are half empty. */
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

/** Exclusive, so that a link put there by anyone is not written through. */
function openNew(path: string): number {
  try {
    return openSync(path, 'wx', 0o600);
  } catch (error) {
    throw fromFailure(asFailure(error));
  }
}

async function removeFiles({ temporary, final }: Transfer): Promise<void> {
  for (const file of [temporary, final]) {
    await unlink(file).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    });
  }
}
