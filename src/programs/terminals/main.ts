/**
 * Entry point of the terminal host: a process of its own for the PTYs of a runner, since the masters of
 * PTYs are descriptors that every program started beside them would inherit.
 *
 * 1. It takes requests on its standard input and tells events on its standard output, as frames.
 * 2. It ends when its input does, and with it what runs on its terminals is hung up.
 */
import { systemClock } from '../../lib/clock.ts';
import { encodeFrame, FrameDecoder } from '../../protocol/message-frames.ts';
import type { HostEvent, HostRequest } from '../../protocol/terminal-messages.ts';
import { Pty } from './pty.ts';

class Host {
  readonly #ptys = new Map<number, Pty>();
  #outgoing: Uint8Array[] = [];
  #scheduled = false;
  /** Output of this turn of the loop, told as one frame each. */
  readonly #output = new Map<number, Uint8Array[]>();

  perform(request: HostRequest): void {
    const pty = this.#ptys.get(request.id);
    switch (request.op) {
      case 'open':
        this.#open(request);
        return;
      case 'write':
        pty?.write(request.bytes);
        return;
      case 'resize':
        pty?.resize(request.cols, request.rows);
        return;
      case 'taken':
        pty?.taken(request.count);
        return;
      case 'close':
        pty?.close();
    }
  }

  #open({ id, spec }: HostRequest & { op: 'open' }): void {
    const refuse = (error: unknown): void => {
      this.#ptys.delete(id);
      const detail = error instanceof Error ? error.message : String(error);
      this.#tell({ event: 'refused', id, detail });
    };
    try {
      const pty = new Pty({
        spec,
        inheritable: [...this.#ptys.values()].flatMap((other) => other.descriptors),
        clock: systemClock,
        events: {
          output: (bytes) => this.#collect(id, bytes),
          written: (count) => this.#tell({ event: 'written', id, count }),
          left: () => this.#tell({ event: 'left', id }),
          exit: (code) => {
            this.#ptys.delete(id);
            this.#tell({ event: 'exit', id, code });
          },
        },
        failed: refuse,
      });
      this.#ptys.set(id, pty);
      if (pty.pid !== undefined) this.#tell({ event: 'opened', id, pid: pty.pid });
    } catch (error) {
      refuse(error);
    }
  }

  #collect(id: number, bytes: Uint8Array): void {
    const chunks = this.#output.get(id);
    if (chunks !== undefined) {
      chunks.push(bytes);
      return;
    }
    this.#output.set(id, [bytes]);
    this.#schedule();
  }

  #tell(event: HostEvent): void {
    // What was read before stays before it.
    this.#encodeOutput(event.id);
    this.#schedule();
    this.#outgoing.push(encodeFrame(event));
  }

  #encodeOutput(id: number): void {
    const chunks = this.#output.get(id);
    if (chunks === undefined) return;
    this.#output.delete(id);
    const [only] = chunks;
    const bytes = chunks.length === 1 && only ? only : Buffer.concat(chunks);
    this.#outgoing.push(encodeFrame({ event: 'output', id, bytes } satisfies HostEvent));
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    for (const id of [...this.#output.keys()]) this.#encodeOutput(id);
    const frames = this.#outgoing;
    this.#outgoing = [];
    if (frames.length > 0) process.stdout.write(Buffer.concat(frames));
  };
}

function main(): void {
  const host = new Host();
  const decoder = new FrameDecoder();
  // Whoever ends the runner's session means the apps, and they are told by the runner.
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
  process.stdin.on('data', (chunk: Buffer) => {
    for (const request of decoder.push(chunk) as HostRequest[]) host.perform(request);
  });
  for (const stream of [process.stdin, process.stdout]) {
    for (const event of ['end', 'close', 'error'] as const)
      stream.once(event, () => process.exit(0));
  }
}

main();
