/** Owns one tree on its way out of a thread, as tar. */
import { Folder, within } from '../../lib/untrusted-files/folder.ts';
import { sendThrough } from '../../workers/sending/outlet.ts';
import type { SendTree } from './tree-messages.ts';
import { ofFolder } from './tar-tree.ts';

export async function sendTree(request: SendTree): Promise<void> {
  const { port, chunkBytes, root, name, prefix, leaves, missed } = request;
  await sendThrough(
    port,
    async (outlet) => {
      outlet.begin();
      const opened = within(Folder.open(root), (above) => above.folder(name));
      const tree = {
        leaves: (path: string) => leaves?.test(path) === true,
        missed: () => void Atomics.add(missed, 0, 1),
      };
      for await (const piece of ofFolder(opened, prefix, tree)) {
        await outlet.room();
        outlet.write(piece);
      }
    },
    chunkBytes,
  );
}
