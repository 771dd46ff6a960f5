/**
 * The entry point of the bulk pool's threads: `serve` receives uploads until its port closes,
 * `extract` unpacks one archive.
 */
import { asFailure } from '../bulk/failure.ts';
import { extractArchive } from '../bulk/extract.ts';
import { calledOff, Receiver } from '../bulk/receiver.ts';
import type {
  ExtractReply,
  ExtractTask,
  ReceiveReply,
  ReceiveRequest,
  ServeTask,
} from '../messages.ts';

export async function serve({ port, replies }: ServeTask): Promise<void> {
  const receivers = new Map<number, Receiver>();
  const counter = new Int32Array(replies);
  const reply = (message: ReceiveReply, transferred: ArrayBuffer[] = []): void => {
    port.postMessage(message, transferred);
    Atomics.add(counter, 0, 1);
    Atomics.notify(counter, 0);
  };
  port.on('message', (request: ReceiveRequest) => {
    const { transfer } = request;
    switch (request.type) {
      case 'begin': {
        const { format, limits, temporary, final } = request;
        const receiver = new Receiver({
          ...{ format, limits, temporary, final },
          credit: (bytes, buffer) => {
            if (buffer === undefined) reply({ type: 'credit', transfer, bytes });
            else reply({ type: 'credit', transfer, bytes, buffer }, [buffer]);
          },
        });
        receivers.set(transfer, receiver);
        void follow(transfer, receiver, reply).then(() => receivers.delete(transfer));
        return;
      }
      case 'chunk':
        // Chunks that were on their way when the transfer failed find nobody.
        receivers.get(transfer)?.chunk(request.bytes);
        return;
      case 'end':
        receivers.get(transfer)?.end();
        return;
      case 'abort':
        receivers.get(transfer)?.callOff();
    }
  });
  await new Promise<void>((resolve) => {
    port.on('close', resolve);
  });
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
  try {
    return { type: 'extracted', ...(await extractArchive(task)) };
  } catch (error) {
    return { type: 'failed', failure: asFailure(error) };
  }
}
