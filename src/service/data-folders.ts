/** Owns the places of folders in a data directory, for parts that do not own the folders. */
import { join } from 'node:path';

export interface DataFolders {
  logs: string;
  /** The recent usage of apps and databases. */
  metrics: string;
  uploads: string;
  /** Uploads while they arrive. */
  arrivingUploads: string;
  /** What is pushed by git, while it arrives. */
  pushes: string;
  /** Artifacts while they are restored. */
  restores: string;
  /** Copies of the data directory while they are backed up. */
  snapshots: string;
}

export function dataFolders(dataDir: string): DataFolders {
  const uploads = join(dataDir, 'uploads');
  return {
    logs: join(dataDir, 'logs'),
    metrics: join(dataDir, 'metrics'),
    uploads,
    restores: join(dataDir, 'restores'),
    pushes: join(dataDir, 'pushes'),
    snapshots: join(dataDir, 'snapshots'),
    arrivingUploads: join(uploads, 'tmp'),
  };
}
