/** An S3 server that looks at signatures, on a port of its own, with one bucket. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from '@20minutes/s3rver';

/** Its only access key, and the secret key. */
export const s3rverKey = 'S3RVER';

export interface RunningS3rver {
  port: number;
  close(): Promise<void>;
}

export async function startS3rver(bucket: string, address = '127.0.0.1'): Promise<RunningS3rver> {
  const directory = mkdtempSync(join(tmpdir(), 'gangway-s3rver-'));
  const configureBuckets = [{ name: bucket }];
  const options = { address, port: 0, silent: true, directory, configureBuckets };
  const server = new S3rver(options);
  const { port } = await server.run();
  return {
    port,
    close: async () => {
      await server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
