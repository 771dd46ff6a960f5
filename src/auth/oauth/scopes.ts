/**
 * Owns what an OAuth client may ask for: capabilities by their names, and OpenID's own scopes.
 *
 * 1. A client that names no capability is offered those to read logs, metrics and activity.
 */
import { type Capability, capabilities } from '../../lib/capabilities.ts';

/** Scopes that stand for no capability. */
export const identityScopes = ['openid', 'profile', 'email', 'offline_access'] as const;

export const allScopes: readonly string[] = [...capabilities, ...identityScopes];

const defaultCapabilities = ['view_logs', 'view_metrics', 'view_activity'] as const;

/** The scope of a request. Where it names no capability, those that are offered are added. */
export function offeredScope(scope: string | null): string {
  const asked = scopesIn(scope);
  if (capabilitiesAmong(asked).length > 0) return asked.join(' ');
  // A client that names no scope does not know of `offline_access`, without which its access ends in an
  // hour.
  const others = asked.length === 0 ? ['offline_access'] : asked;
  return [...others, ...defaultCapabilities].join(' ');
}

/** In the order of the contract. */
export function capabilitiesAmong(scopes: readonly string[]): Capability[] {
  return capabilities.filter((capability) => scopes.includes(capability));
}

export function scopesIn(scope: string | null): string[] {
  return [...new Set((scope ?? '').split(' ').filter((name) => name !== ''))];
}
