/**
 * Owns which volumes an app or a database has at a driver of containers, and their names in backups. A volume
 * is called `<owner>-<name>`, until a restore puts another in its place.
 */
import type { Driver, VolumeFolders } from '../../drivers/driver.ts';
import type { OwnVolumes, ReadVolumes } from '../../backups/targets.ts';

/** What every app and every database has. */
export const dataName = 'data';

interface Run {
  volumes?: VolumeFolders;
  volumesBefore?: VolumeFolders;
}

interface Owner {
  id: string;
  run: Run;
}

/** What runs, with these volumes from the next start on. */
export function withVolumes<R extends Run>(
  run: R,
  volumes: VolumeFolders,
  before: VolumeFolders | null,
): R {
  const changed = { ...run, volumes };
  delete changed.volumesBefore;
  return before === null ? changed : { ...changed, volumesBefore: before };
}

export function volumeOf({ id, run }: Owner, name: string): string {
  return run.volumes?.[name] ?? `${id}-${name}`;
}

export async function readVolumes(
  { volumes: files }: Pick<Driver, 'volumes'>,
  owner: Owner,
): Promise<ReadVolumes> {
  if (files === null) throw new Error('Cannot read volumes: the driver has none');
  const prefix = `${owner.id}-`;
  const names = (await files.of(owner.id)).flatMap((volume) =>
    volume.startsWith(prefix) ? [volume.slice(prefix.length)] : [],
  );
  const first = names.filter((name) => !name.startsWith(restored));
  const all = [...new Set([...first, ...Object.keys(owner.run.volumes ?? {})])].sort();
  const live = Object.fromEntries(all.map((name) => [name, volumeOf(owner, name)]));
  return { owner: owner.id, live, files };
}

/** No volume is called so otherwise. */
const restored = 'restored-';

export async function ownVolumes(
  driver: Pick<Driver, 'volumes' | 'removeVolume'>,
  owner: Owner,
  { restoreId, use }: { restoreId: string; use: OwnVolumes['use'] },
): Promise<OwnVolumes> {
  return {
    ...(await readVolumes(driver, owner)),
    before: owner.run.volumesBefore ?? null,
    fresh: (name) => `${owner.id}-${restored}${restoreId}-${name}`,
    use,
    remove: (volume) => driver.removeVolume(volume),
  };
}
