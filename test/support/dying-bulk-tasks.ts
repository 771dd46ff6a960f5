/** The bulk pool's tasks, on a thread that dies when it is sent the word "die". */
import { serve as realServe } from '../../src/workers/tasks/bulk.ts';
import type { ReceiveRequest, ServeTask } from '../../src/archives/bulk-messages.ts';

export async function serve(task: ServeTask): Promise<void> {
  task.port.on('message', (request: ReceiveRequest) => {
    if (request.type !== 'chunk' || request.to - request.from !== 3) return;
    setImmediate(() => process.exit(9));
  });
  await realServe(task);
}
