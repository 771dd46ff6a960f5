/**
 * Owns the messages of the `domains` actor: the only way to change a domain. The sender's rights were checked before.
 */
import type { CertificateRecord, DomainRecord } from '../../store/records/records.ts';
import type { GivenCertificate } from './own-certificate.ts';
import { actorKind } from '../runtime/actor.ts';
import type { DnsSeen } from './dns-looks.ts';

// A type, not an interface: it has to be assignable to Protocol's index signature.
export type DomainsProtocol = {
  /**
   * BAD_USER_INPUT for what is no host for an app; CONFLICT where the host is taken, or there are too many. `own`: the
   * addresses of the edge, where they are known.
   */
  add: {
    in: { appId: string; host: string; redirectTo: string | null; own: string[] | null };
    out: DomainRecord;
  };
  /** Somebody has just looked at the DNS. */
  verify: { in: { domainId: string; seen: DnsSeen }; out: DomainRecord };
  /** CONFLICT for a wildcard, and for one that leads to another. */
  'set-primary': { in: { domainId: string }; out: DomainRecord };
  /** NOT_FOUND; CONFLICT while others lead to it. */
  remove: { in: { domainId: string }; out: boolean };
  /** Instead of any that it has. A ServiceError CERTIFICATE_… for one that is no good. */
  'upload-certificate': { in: { domainId: string } & GivenCertificate; out: DomainRecord };
  /** A certificate was issued for it; false where that is no use any more. */
  certified: { in: { domainId: string; certificate: CertificateRecord }; out: boolean };
  /** None could be had now; `isRefused`: not by chance. `error` is for people. */
  uncertified: { in: { domainId: string; error: string; isRefused: boolean }; out: null };
  /** The app is removed for good. */
  forget: { in: { appId: string }; out: boolean };
  /** At start: takes up what an earlier process left. */
  wake: { in: object; out: boolean };
};

export const domainsKind = actorKind<DomainsProtocol>('domains');
/** One for all: hosts are unique over all teams. */
export const domainsActor = domainsKind.at('all');
