/** Owns where things lie in a data directory, for who does not own them. */
import { join } from 'node:path';

export interface DataFolders {
  logs: string;
  /** What apps and databases used lately. */
  metrics: string;
  uploads: string;
  /** Uploads while they arrive. */
  arrivingUploads: string;
}

export function dataFolders(dataDir: string): DataFolders {
  const uploads = join(dataDir, 'uploads');
  return {
    logs: join(dataDir, 'logs'),
    metrics: join(dataDir, 'metrics'),
    uploads,
    arrivingUploads: join(uploads, 'tmp'),
  };
}
