/** Owns the messages of the `certificates` actor, which gets certificates by ACME. */
import { actorKind } from '../runtime/actor.ts';

export type CertificatesProtocol = {
  /** Orders for all domains that want a certificate, as their times come; revokes what nobody has any more. */
  sweep: { in: object; out: null };
  /** Orders for a domain now, unless the authority has asked to be left alone. */
  order: { in: { domainId: string }; out: null };
};

export const certificatesKind = actorKind<CertificatesProtocol>('certificates');
/** One for the instance, as its account is. */
export const certificatesActor = certificatesKind.at('all');
