/**
 * Owns what the forms of our pages share: fields, how a form is read, how it shows a refusal, and where it
 * may lead afterwards.
 *
 * 1. A form that another site's page sent is refused before it is read.
 * 2. The form shows a refusal with the status of the error and what was typed. It does not show a bug.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Callers } from '../credentials.ts';
import { mediaTypeOf } from '../http/accept.ts';
import type { Exchange } from '../transport.ts';
import { html, type Html, sendPage } from './page.ts';

/** The page that people reach when they asked for no other: the dashboard. */
export const homePath = '/';

const formBytesMax = 16_384;

/** Reads a posted form. Rejects: CROSS_SITE, UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE. */
export async function readForm(
  exchange: Exchange,
  callers: Pick<Callers, 'refuseCrossSite'>,
): Promise<URLSearchParams> {
  callers.refuseCrossSite(exchange);
  if (mediaTypeOf(exchange) !== 'application/x-www-form-urlencoded') {
    throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', 'Send the form as it is.');
  }
  return new URLSearchParams((await exchange.body(formBytesMax)).toString('utf8'));
}

/** Shows the page again with the refusal. Throws every other error again. */
export function sendRefused(
  exchange: Exchange,
  thrown: unknown,
  title: string,
  body: (problem: Html) => Html,
): void {
  if (!(thrown instanceof ServiceError) || thrown.code === 'INTERNAL') throw thrown;
  const { status, message, retryAfterS, headers = {} } = thrown;
  const wait = retryAfterS === undefined ? '' : ` Wait ${timeOf(retryAfterS)}.`;
  const problem = html`<p role="alert">${message}${wait}</p>`;
  sendPage(exchange, status, title, body(problem), {
    ...headers,
    ...(retryAfterS !== undefined && { 'Retry-After': String(retryAfterS) }),
  });
}

function timeOf(seconds: number): string {
  if (seconds === 1) return 'a second';
  if (seconds < 120) return `${String(seconds)} seconds`;
  return `${String(Math.ceil(seconds / 60))} minutes`;
}

/** The sign-in page, which leads on to `next`. */
export function loginFor(next: string): string {
  return `/login?next=${encodeURIComponent(next)}`;
}

/** A page's path with the query of the request. */
export function asAsked(path: string, { query }: Exchange): string {
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

/**
 * The path that a page may lead on to, as a browser resolves it: a path of this origin, else `instead`.
 * Text that only looks like a path is refused (`//host`, `/\host`, one with a tab in between, or one that
 * becomes `//host` by its dots).
 */
export function pathOnSite(given: string | null, instead: string): string {
  const origin = 'http://site.invalid';
  if (given === null || !/^\/(?![/\\])/.test(given) || !URL.canParse(given, origin)) return instead;
  const url = new URL(given, origin);
  if (url.origin !== origin || url.pathname.startsWith('//')) return instead;
  return `${url.pathname}${url.search}${url.hash}`;
}

/** Marks the field that people type into first. */
export const focused = html`autofocus`;

export function nameField(value: string, focus: boolean): Html {
  return html`<label
    >Your name
    <input
      name="name"
      value="${value}"
      required
      ${focus ? focused : null}
      maxlength="100"
      autocomplete="name"
    />
  </label>`;
}

/** A field for a password that is being chosen. */
export function newPasswordField(label: string, focus: boolean): Html {
  return html`<label
    >${label}
    <input
      name="password"
      type="password"
      required
      ${focus ? focused : null}
      minlength="10"
      maxlength="128"
      autocomplete="new-password"
    />
    <small>10 characters at least.</small>
  </label>`;
}
