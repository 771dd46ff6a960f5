/**
 * Owns the session cookie as text: finding it in a request, checking its signature without the
 * library's asynchronous path, and writing it. The format is better-auth's (its better-call):
 * `encodeURIComponent(<token>.<base64 HMAC-SHA256 of token>)`.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../../lib/errors.ts';

export const sessionCookieName = 'service.session_token';
export const sessionMaxAgeS = 7 * 24 * 60 * 60;

// A signed value has about 80 characters. Much longer ones are not ours and are not worth a hash.
const valueMax = 512;
const signatureLength = 44;

/** The raw value of the session cookie, '' for none. Throws BAD_REQUEST for two of the name. */
export function findSessionCookie(cookieHeader: string): string {
  return soleCookie(cookieHeader, sessionCookieName);
}

/** The raw value of a cookie, '' for none. Throws BAD_REQUEST for two of the name. */
export function soleCookie(cookieHeader: string, name: string): string {
  if (!cookieHeader.includes(name)) return '';
  let found: string | undefined;
  // Repeated Cookie headers arrive joined by a comma, which no cookie of ours contains.
  for (const pair of cookieHeader.split(/[;,]/)) {
    const equals = pair.indexOf('=');
    if (equals < 0 || pair.slice(0, equals).trim() !== name) continue;
    if (found !== undefined) {
      throw new ServiceError('BAD_REQUEST', `Two cookies are named ${name}.`);
    }
    found = pair.slice(equals + 1).trim();
  }
  return found ?? '';
}

/** The session's token when the signature is right, else null. */
export function openSessionCookie(raw: string, secret: string): string | null {
  if (raw.length > valueMax) return null;
  const value = decoded(raw);
  const dot = value.lastIndexOf('.');
  if (dot < 1 || value.length - dot - 1 !== signatureLength) return null;
  const token = value.slice(0, dot);
  const given = Buffer.from(value.slice(dot + 1));
  const right = Buffer.from(signatureOf(token, secret));
  return given.length === right.length && timingSafeEqual(given, right) ? token : null;
}

/** The raw cookie value for a session's token. */
export function sealSessionCookie(token: string, secret: string): string {
  return encodeURIComponent(`${token}.${signatureOf(token, secret)}`);
}

/** A `Set-Cookie` that keeps `raw` for a full session's length. */
export function keepCookie(raw: string, secure: boolean): string {
  return withAttributes(`${sessionCookieName}=${raw}; Max-Age=${String(sessionMaxAgeS)}`, secure);
}

/** A `Set-Cookie` that removes the cookie. */
export function clearCookie(secure: boolean): string {
  return withAttributes(`${sessionCookieName}=; Max-Age=0`, secure);
}

/** A cookie that scripts do not see and other sites' forms do not carry. */
export function withAttributes(pair: string, secure: boolean): string {
  return `${pair}; Path=/; HttpOnly${secure ? '; Secure' : ''}; SameSite=Lax`;
}

function signatureOf(token: string, secret: string): string {
  return createHmac('sha256', secret).update(token).digest('base64');
}

function decoded(raw: string): string {
  const quoted = raw.length > 1 && raw.startsWith('"') && raw.endsWith('"');
  const value = quoted ? raw.slice(1, -1) : raw;
  if (!value.includes('%')) return value;
  try {
    return decodeURIComponent(value);
  } catch {
    // Malformed percent-encoding: we did not sign this, so the signature check refuses it.
    return value;
  }
}
