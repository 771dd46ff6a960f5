/**
 * Owns which team may have which host.
 *
 * 1. Claims are not exclusive, so that nobody can keep a host from who holds its DNS. The first team that verifies it
 *    has it, and everything below it: from then on no other team can claim or verify that.
 * 2. A team that has verified a host needs no further proof for what is below it.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { DomainRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { baseOf, claimsAbove } from './host-names.ts';

type Claimed = Pick<DomainRecord, 'host' | 'teamId'>;

/** Whether no other team has the host: undefined; else why, for people. */
export function takenBy(reader: Reader, { host, teamId }: Claimed): string | undefined {
  const owner = ownersOf(reader, host).find((one) => one.teamId !== teamId);
  if (owner === undefined) return undefined;
  return `Another team has proved that it holds ${host}, or a domain above it.`;
}

export function mustBeFree(reader: Reader, claimed: Claimed): void {
  const why = takenBy(reader, claimed);
  if (why !== undefined) throw new ServiceError('CONFLICT', why);
}

/** Whether the team has verified no other domain that the host is, or is below. */
export function needsProof(reader: Reader, claimed: Claimed & { id?: string }): boolean {
  const own = ownersOf(reader, claimed.host).filter(({ teamId }) => teamId === claimed.teamId);
  return own.every(({ id }) => id === claimed.id);
}

/** Whether `texts`, at the host's place of proof, or what its team has verified above, show that it is the team's. */
export function isProven(reader: Reader, claimed: Claimed, texts: readonly string[]): boolean {
  const { host, teamId } = claimed;
  // A host and the wildcard below it have one place.
  return ownersOf(reader, host).some(
    (one) =>
      one.teamId === teamId && (baseOf(one.host) !== baseOf(host) || texts.includes(one.proof)),
  );
}

/** The verified domains that the host is, or is below. */
function ownersOf(reader: Reader, host: string): Readonly<DomainRecord>[] {
  return claimsAbove(host).flatMap((name) => reader.find(tables.domains, 'host', [name]) ?? []);
}
