/** Owns data that comes into the place of the live one as a tar, where its files are not made by this process. */
import type { DatabaseTarget, DataBeside, OwnVolumes, ServerControl } from '../targets.ts';
import { swap } from './swap.ts';
import { swapVolumes } from './volume-swap.ts';

export interface TarSwap {
  /** Of volumes that may come. */
  names: ReadonlySet<string>;
  /** `fill` writes one tar, and tells which volumes came. Rejects as `swap` does. */
  run: (
    log: (line: string) => void,
    fill: (write: WriteTar) => Promise<ReadonlySet<string>>,
  ) => Promise<void>;
}

export type WriteTar = (tar: AsyncIterable<Uint8Array>, signal: AbortSignal) => Promise<void>;

/** Volumes that every app and database has, or may have had no time to make. */
const always = 'data';

/** That of a database; null: its files are made by this process. */
export function tarSwapOf({ volumes, elsewhere, control }: DatabaseTarget): TarSwap | null {
  if (volumes !== null) return volumesSwap(volumes, control);
  return elsewhere === null ? null : besideSwap(elsewhere.data, control);
}

/** Into fresh volumes, which the driver writes. */
export function volumesSwap(volumes: OwnVolumes, control: ServerControl): TarSwap {
  const names = new Set([...Object.keys(volumes.live), always]);
  return {
    names,
    run: (log, fill) =>
      swapVolumes({ volumes, control, log }, [...names], (fresh) =>
        fill((tar, signal) => volumes.files.write(volumes.owner, fresh, tar, signal)),
      ),
  };
}

/** Beside the live data of another server, whose agent makes it of the tar. */
export function besideSwap(data: DataBeside, control: ServerControl): TarSwap {
  let isMade = false;
  return {
    names: new Set([always]),
    run: (log, fill) =>
      swap(
        { control, log },
        {
          make: async () => {
            const come = await fill((tar, signal) => data.fillBeside(tar, signal));
            isMade = come.has(always);
          },
          exchange: () => (isMade ? data.exchange() : Promise.resolve()),
          bringBack: () => data.settle('previous'),
          settle: () => data.settle('live'),
          drop: () => data.settle('live'),
        },
      ),
  };
}
