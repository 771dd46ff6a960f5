/** Owns what of domains is taken up at start. */
import type { Actors } from '../runtime/actor.ts';
import { domainsActor } from './protocol.ts';

/** Domains are looked at from now on, and apps that an earlier process did not tell of theirs are told. */
export function wakeDomains(actors: Pick<Actors, 'tell'>): void {
  actors.tell(domainsActor, { type: 'wake' });
}
