/** Owns the judgement of one delivery: whether it is the provider's own, and what moved. */
import { asServiceError, type PlainServiceError } from '../../lib/errors.ts';
import type { ProviderKind, PushDelivery } from '../providers/provider.ts';
import { providers } from '../providers/providers.ts';

/** A delivery as it came; plain data. */
export interface RawDelivery {
  provider: ProviderKind;
  /** By lower-case names. */
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
  secret: string | null;
}

export type ReadDelivery =
  | { kind: 'unsigned' }
  | { kind: 'pushes'; pushes: PushDelivery[] }
  | { kind: 'refused'; error: PlainServiceError };

export function readDelivery({ headers, body, secret, ...raw }: RawDelivery): ReadDelivery {
  const provider = providers[raw.provider];
  const header = (name: string): string => headers[name] ?? '';
  if (!provider.verify(header, body, secret)) return { kind: 'unsigned' };
  try {
    return { kind: 'pushes', pushes: provider.pushes(header, body) };
  } catch (error) {
    return { kind: 'refused', error: asServiceError(error).toPlain() };
  }
}

/** The headers by which deliveries are judged. */
export const deliveryHeaders = [
  'idempotency-key',
  'x-event-key',
  'x-forgejo-delivery',
  'x-forgejo-event',
  'x-forgejo-signature',
  'x-gitea-delivery',
  'x-gitea-event',
  'x-gitea-signature',
  'x-github-delivery',
  'x-github-event',
  'x-gitlab-event',
  'x-gitlab-event-uuid',
  'x-gitlab-token',
  'x-gogs-delivery',
  'x-gogs-event',
  'x-gogs-signature',
  'x-hub-signature',
  'x-hub-signature-256',
  'x-request-id',
  'x-request-uuid',
] as const;
