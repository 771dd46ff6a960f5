/**
 * Owns what an authority is answered that looks whether a host is the instance's, before it issues a certificate
 * (RFC 8555, section 8.3). The answer follows from the token and the account's key, so nobody has to say it beforehand.
 */
import type { LiveRoute } from './routes.ts';

/** Where an authority looks, over plain HTTP. */
export const challengePath = '/.well-known/acme-challenge/';

/** Undefined where it is no such question, or no certificate is ordered for the host. */
export function challengeAnswer(
  { acmeThumbprint }: Pick<LiveRoute, 'acmeThumbprint'>,
  target: string,
): string | undefined {
  if (acmeThumbprint === undefined || !target.startsWith(challengePath)) return undefined;
  const token = target.slice(challengePath.length);
  return /^[\w-]{1,512}$/.test(token) ? `${token}.${acmeThumbprint}` : undefined;
}
