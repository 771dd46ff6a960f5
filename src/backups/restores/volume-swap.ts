/**
 * Owns putting fresh volumes in the place of those that containers use, with the old ones kept until the
 * containers are well with the new ones.
 *
 * 1. Which volumes a target has stands in its record alone. That changes at once, and names the previous ones
 *    until the new ones stand, so that `recoverVolumes` puts those back behind a crash before that.
 * 2. The containers are ended for the exchange alone; the new volumes are whole before.
 */
import type { VolumeFolders } from '../../drivers/driver.ts';
import type { OwnVolumes, ServerControl } from '../targets.ts';
import { swap, type Swapping } from './swap.ts';

/**
 * `fill` is given the names of volumes that may be missing and hold nothing, and tells which of them come.
 * Rejects with a ServiceError that says what is there now.
 */
export async function swapVolumes(
  { volumes, control, log }: Swapping & { volumes: OwnVolumes },
  names: readonly string[],
  fill: (fresh: VolumeFolders) => Promise<ReadonlySet<string>>,
): Promise<void> {
  const fresh = Object.fromEntries(names.map((name) => [name, volumes.fresh(name)]));
  let next = volumes.live;
  await swap(
    { control, log },
    {
      make: async () => {
        await settle(volumes, volumes.live);
        const found = await fill(fresh);
        const come = Object.entries(fresh).filter(([name]) => found.has(name));
        next = { ...volumes.live, ...Object.fromEntries(come) };
      },
      exchange: () => volumes.use(next, volumes.live),
      bringBack: () => volumes.use(volumes.live, null),
      settle: () => settle(volumes, next),
      drop: () => removeAll(volumes, Object.values(fresh)),
    },
  );
}

/** Ends an exchange that a crash cut off. Whether the previous volumes came back. */
export async function recoverVolumes(
  volumes: OwnVolumes,
  { control, isReplaced }: { control: ServerControl; isReplaced: boolean },
): Promise<boolean> {
  const { live, before, use } = volumes;
  const isPutBack = before !== null && !isReplaced;
  if (isPutBack) await control.stop();
  const now = isPutBack ? before : live;
  if (before !== null) await use(now, null);
  // What cannot be removed now, the next restore removes.
  await removeStale({ ...volumes, live: now }).catch(() => undefined);
  return isPutBack;
}

/** From here on there is no way back to others than these. */
async function settle(volumes: OwnVolumes, live: VolumeFolders): Promise<void> {
  if (volumes.before !== null || live !== volumes.live) await volumes.use(live, null);
  await removeStale({ ...volumes, live });
}

/** All that is not in use: what restores left, and what was before them. */
async function removeStale(volumes: OwnVolumes): Promise<void> {
  const used = new Set(Object.values(volumes.live));
  const all = await volumes.files.of(volumes.owner);
  await removeAll(
    volumes,
    all.filter((volume) => !used.has(volume)),
  );
}

async function removeAll(volumes: OwnVolumes, names: readonly string[]): Promise<void> {
  for (const name of names) await volumes.remove(name);
}
