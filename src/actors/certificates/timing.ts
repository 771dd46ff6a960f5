/**
 * Owns when a certificate is ordered, renewed, and tried for again. All times are compared with the clock as it is, which may
 * be set: one that is further ahead than any that is given here counts as now.
 */
import { createHash } from 'node:crypto';
import type { CertificateOrderRecord, CertificateRecord } from '../../store/records/records.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** The longest that an authority can ask for. */
const heldMaxMs = 7 * 24 * hourMs;
const refusedFirstMs = 5 * minuteMs;
const refusedMaxMs = 12 * hourMs;
const outageFirstMs = minuteMs / 2;
const outageMaxMs = 15 * minuteMs;
/** Behind a renewal there is no other for a third of the life, or so long. */
const restMaxMs = 6 * hourMs;

/** At two thirds of its life, or up to a twentieth earlier, so that many of one day do not come back on one day. */
export function renewAtMs({ id, notBeforeMs, notAfterMs }: Readonly<CertificateRecord>): number {
  const lifeMs = notAfterMs - notBeforeMs;
  const chance = createHash('sha256').update(id).digest().readUInt32BE() / 2 ** 32;
  return notBeforeMs + Math.floor(lifeMs * (2 / 3 - chance / 20));
}

/** How long a fresh certificate is left alone, whatever the clock says of its dates. */
export function restMs({
  notBeforeMs,
  notAfterMs,
}: Pick<CertificateRecord, 'notBeforeMs' | 'notAfterMs'>): number {
  return Math.min((notAfterMs - notBeforeMs) / 3, restMaxMs);
}

/** How long to wait behind so many refusals in a row, unless the authority asks for more. */
export function refusedMs(failures: number): number {
  return Math.min(refusedFirstMs * 3 ** (failures - 1), refusedMaxMs);
}

/** The same, for so many requests in a row that found no authority. */
export function outageMs(outages: number): number {
  return Math.min(outageFirstMs * 2 ** (outages - 1), outageMaxMs);
}

/** What the authority is granted of the time that it asks for; null: it asks for none. */
export function grantedMs(askedMs: number | null): number {
  return Math.min(askedMs ?? 0, heldMaxMs);
}

/** How long from now until it is tried again; 0: it is due. */
export function dueInMs(
  { nextTryAtMs, held }: Readonly<CertificateOrderRecord>,
  nowMs: number,
): number {
  const leftMs = nextTryAtMs - nowMs;
  return leftMs > Math.max(refusedMaxMs, held?.forMs ?? 0) ? 0 : Math.max(0, leftMs);
}
