/** Owns how a destination is opened from what is known of its place. */
import { AddressPolicy, type AddressRules } from '../../lib/address-policy.ts';
import { GuardedFetch } from '../../lib/guarded-fetch.ts';
import type { Destination, DestinationPlace } from './destination.ts';
import type { BucketTiming } from './s3/bucket.ts';
import { S3Destination } from './s3/s3-destination.ts';
import { ServerDestination } from './server-destination.ts';

export interface OpenOptions {
  /** The way to buckets. */
  fetch: GuardedFetch;
  timing?: BucketTiming;
}

/** A place as a thread is told of it; plain data. */
export interface PlaceInThread {
  place: DestinationPlace;
  /** Which addresses a bucket may have. */
  rules: AddressRules;
}

export function openInThread({ place, rules }: PlaceInThread): Destination {
  const policy = new AddressPolicy({ ...rules, ownPorts: () => rules.ownPorts });
  return openDestination(place, { fetch: new GuardedFetch({ policy }) });
}

export function openDestination(place: DestinationPlace, options: OpenOptions): Destination {
  return place.kind === 'server' ? new ServerDestination(place) : new S3Destination(place, options);
}
