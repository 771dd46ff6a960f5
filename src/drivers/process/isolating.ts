/** Owns whether this machine can keep the programs of its workloads apart at all, before a runner is asked. */
import { mayGiveUids } from '../../lib/processes/program-uids.ts';
import type { LayerState } from '../../protocol/isolation.ts';

/** Why it can't, and what that means; null: the runner tells, layer by layer. */
export function reasonAgainstIsolation(
  platform: string = process.platform,
  uid = process.getuid?.(),
  givesUids = mayGiveUids(uid),
): string | null {
  if (platform !== 'linux') {
    return 'This is no Linux: nothing but the modes of files keeps apps from each other and from Gangway.';
  }
  if (givesUids) return null;
  const why =
    uid === 0 ? 'Gangway may not run programs as other users here' : 'Gangway does not run as root';
  return (
    `${why}: apps run as its own user, and nothing keeps a hostile one from the files, variables, processes and ` +
    "ports of others, nor from Gangway's own."
  );
}

/**
 * Whether workloads have networks of their own, and so listen on no address of the machine. `ask`: a runner,
 * where one is needed to know.
 */
export async function haveNetworks(ask: () => Promise<readonly LayerState[]>): Promise<boolean> {
  const layers = await ask();
  return layers.some(({ layer, missing }) => layer === 'network' && missing === null);
}

/** The same question; one answer serves all who ask it meanwhile. */
export function sharedWhileAsked<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined;
  return () =>
    (asked ??= ask().finally(() => {
      asked = undefined;
    }));
}
