/** Owns what follows from a look at the DNS: which records are to be set, which are there, and what is wrong. */
import { isIPv4 } from 'node:net';
import type { DnsEntry, DomainRecord } from '../../store/records/records.ts';
import type { DnsQuestion, DnsSeen } from './dns-looks.ts';
import { baseOf, isWildcard } from './host-names.ts';

export interface Claim extends Pick<DomainRecord, 'host' | 'proof'> {
  /** The host that the app has from Gangway. */
  appHost: string;
  /** Whether its team must prove that it holds the DNS. */
  needsProof: boolean;
}

export interface Verdict {
  records: DnsEntry[];
  /** Whether all is set, and nothing else is. */
  isRight: boolean;
  /** For people; null where it is right, or records are missing. */
  error: string | null;
}

const shownMax = 3;
/** Before anybody has looked. */
const unseen: DnsSeen = { own: null, addresses: [], aliases: [], texts: [] };

export function questionOf({ host, proof }: Pick<DomainRecord, 'host' | 'proof'>): DnsQuestion {
  // A name below a wildcard that nobody has a record of its own for, nor has asked for before.
  const asked = isWildcard(host) ? `${proof}.${baseOf(host)}` : host;
  return { host: asked, proofAt: proofPlace(host) };
}

export function recordsToSet(claim: Claim, own: string[] | null): DnsEntry[] {
  return verdictOf(claim, { ...unseen, own }).records;
}

export function verdictOf(claim: Claim, seen: DnsSeen): Verdict {
  const { host, proof, appHost } = claim;
  const [own, there] = [seen.own ?? [], seen.addresses ?? []];
  const isAlias = seen.aliases?.some((one) => one.toLowerCase() === appHost) ?? false;
  const foreign = isAlias ? [] : there.filter((address) => !own.includes(address));
  const ways: DnsEntry[] = own.map((value) => {
    const type = isIPv4(value) ? 'A' : 'AAAA';
    return { type, name: host, value, found: isAlias || there.includes(value) };
  });
  if (own.length === 0) ways.push({ type: 'CNAME', name: host, value: appHost, found: isAlias });
  const found = seen.texts?.includes(proof) ?? false;
  const proofs: DnsEntry[] = claim.needsProof
    ? [{ type: 'TXT', name: proofPlace(host), value: proof, found }]
    : [];
  const leadsHere = foreign.length === 0 && ways.some((way) => way.found);
  return {
    records: [...proofs, ...ways],
    isRight: leadsHere && proofs.every((one) => one.found),
    error: faultOf(host, seen, foreign),
  };
}

function faultOf(host: string, seen: DnsSeen, foreign: readonly string[]): string | null {
  if (seen.addresses === null || seen.texts === null) {
    return 'No DNS server answered for this host. It is asked again.';
  }
  if (seen.own === null) {
    return "No DNS server answered for the panel's own name. It is asked again.";
  }
  if (foreign.length === 0) return null;
  const shown = foreign.slice(0, shownMax).join(', ');
  return `${host} leads to ${shown}, which is no address of this instance: remove that record.`;
}

function proofPlace(host: string): string {
  return `_gangway.${baseOf(host)}`;
}
