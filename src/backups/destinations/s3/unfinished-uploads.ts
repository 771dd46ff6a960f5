/** Owns the list of uploads in parts that were begun in a bucket and not ended. */
import type { ServiceError } from '../../../lib/errors.ts';
import type { Bucket } from './bucket.ts';
import { BucketRefusal, fieldIn } from './refusal.ts';

export interface UnfinishedUpload {
  key: string;
  uploadId: string;
}

const pagesMax = 100;
const unlistable: ReadonlySet<number> = new Set([400, 403, 404, 405, 501]);
const anyText = /^[^\0]{1,2048}$/;

/** Those below the prefix; none where the store cannot list them, or our key may not. */
export async function* unfinishedUploads(
  bucket: Bucket,
  prefix: string,
  signal: AbortSignal,
): AsyncGenerator<UnfinishedUpload> {
  let marker: Record<string, string> = {};
  for (let page = 0; page < pagesMax; page++) {
    const text = await pageOf(bucket, { uploads: '', prefix, ...marker }, signal);
    if (text === null) return;
    for (const upload of text.split('<Upload>').slice(1)) {
      const key = fieldIn(upload, 'Key', anyText);
      const uploadId = fieldIn(upload, 'UploadId', anyText);
      if (key?.startsWith(prefix) === true && uploadId !== null) yield { key, uploadId };
    }
    const keyMarker = fieldIn(text, 'NextKeyMarker', anyText);
    const idMarker = fieldIn(text, 'NextUploadIdMarker', anyText);
    if (fieldIn(text, 'IsTruncated', /^true$/) === null || keyMarker === null) return;
    marker = { 'key-marker': keyMarker, ...(idMarker && { 'upload-id-marker': idMarker }) };
  }
}

async function pageOf(
  bucket: Bucket,
  query: Record<string, string>,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    return (await bucket.ask({ method: 'GET', key: '', query, signal })).text;
  } catch (error) {
    const { cause } = error as ServiceError;
    if (cause instanceof BucketRefusal && unlistable.has(cause.status)) return null;
    throw error;
  }
}
