/** Owns how a destination is opened from what is known of its place. */
import type { GuardedFetch } from '../../lib/guarded-fetch.ts';
import type { Destination, DestinationPlace } from './destination.ts';
import type { BucketTiming } from './s3/bucket.ts';
import { S3Destination } from './s3/s3-destination.ts';
import { ServerDestination } from './server-destination.ts';

export interface OpenOptions {
  /** The way to buckets. */
  fetch: GuardedFetch;
  timing?: BucketTiming;
}

export function openDestination(place: DestinationPlace, options: OpenOptions): Destination {
  return place.kind === 'server' ? new ServerDestination(place) : new S3Destination(place, options);
}
