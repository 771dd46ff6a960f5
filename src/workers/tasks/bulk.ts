/**
 * The entry point of the bulk pool's threads: `serve` receives uploads and `send` sends archives until its
 * port closes, `extract` unpacks one archive.
 */
import { setPriority } from 'node:os';
import { asFailure } from '../task-failure.ts';
import { extractArchive } from '../../archives/extracting/extract.ts';
import { calledOff, Receiver } from '../../archives/receiving/receiver.ts';
import { sendArchive } from '../../archives/sending/sender.ts';
import {
  type ExtractReply,
  type ExtractTask,
  type ReceiveReply,
  type ReceiveRequest,
  type SendRequest,
  type SendTask,
  type ServeTask,
  slotBytes,
} from '../../archives/bulk-messages.ts';

// A `nice` value: the thread gets a third of the processor where threads compete, and all of it where they
// do not. A later check of an archive harms nobody; a gateway that waits for the core harms everybody.
const yieldingPriority = 5;

export async function serve({ port, memory }: ServeTask): Promise<void> {
  yieldToOthers();
  const receivers = new Map<number, Receiver>();
  const reply = (message: ReceiveReply): void => port.postMessage(message);
  port.on('message', (request: ReceiveRequest) => {
    const { transfer } = request;
    const receiver = receivers.get(transfer);
    switch (request.type) {
      case 'begin': {
        const { format, limits, temporary, final } = request;
        const begun = new Receiver({
          ...{ format, limits, temporary, final },
          credit: (bytes, slot) => reply({ type: 'credit', transfer, bytes, slot }),
        });
        receivers.set(transfer, begun);
        void follow(transfer, begun, reply).then(() => receivers.delete(transfer));
        return;
      }
      case 'chunk': {
        const { slot, from, to } = request;
        const bytes = new Uint8Array(memory, slot * slotBytes + from, to - from);
        // The transfer failed while this message was on its way.
        if (receiver === undefined) reply({ type: 'credit', transfer, bytes: 0, slot });
        else receiver.chunk(bytes, slot);
        return;
      }
      case 'spilled':
        receiver?.spilled(request.bytes);
        return;
      case 'end':
        receiver?.end();
        return;
      case 'abort':
        receiver?.callOff();
    }
  });
  await new Promise<void>((resolve) => port.on('close', resolve));
}

async function follow(
  transfer: number,
  receiver: Receiver,
  reply: (message: ReceiveReply) => void,
): Promise<void> {
  try {
    const outcome = await receiver.run();
    if (outcome === calledOff) reply({ type: 'aborted', transfer });
    else reply({ type: 'received', transfer, ...outcome });
  } catch (error) {
    reply({ type: 'failed', transfer, failure: asFailure(error) });
  }
}

export async function extract(task: ExtractTask): Promise<ExtractReply> {
  yieldToOthers();
  try {
    return { type: 'extracted', ...(await extractArchive(task)) };
  } catch (error) {
    return { type: 'failed', failure: asFailure(error) };
  }
}

export async function send({ port }: SendTask): Promise<void> {
  yieldToOthers();
  port.on('message', (request: SendRequest) => void sendArchive(request));
  await new Promise<void>((resolve) => port.on('close', resolve));
}

/** Only on Linux does the priority apply to the calling thread alone. */
function yieldToOthers(): void {
  if (process.platform === 'linux') setPriority(yieldingPriority);
}
