/**
 * Owns the page on which people turn two-factor on, without script. It stays open while a team that
 * requires two-factor refuses everything else.
 *
 * 1. The page is for people. A visitor who is not signed in is led to the sign-in page and back; a token is
 *    refused.
 * 2. A form that another site's page sent starts and confirms nothing.
 * 3. The secret and the recovery codes travel in the person's own form, so that the page can show them
 *    again after a mistyped code. The stored secret decides, not the one in the form.
 */
import type { AccountReads, AskingTeam, User } from '../../auth/callers/account-reads.ts';
import type { Accounts } from '../../auth/sign-in/accounts.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Exchange, Route } from '../transport.ts';
import { type Callers, originOf, type Person, personAt } from '../credentials.ts';
import { homePath, focused, loginFor, pathOnSite, readForm, sendRefused } from '../pages/form.ts';
import { type Html, html, redirect, sendPage } from '../pages/page.ts';

/** What pages on accounts work with. */
export interface AccountPagesOptions {
  accounts: () => Promise<Accounts>;
  accountReads: Pick<AccountReads, 'user' | 'askingTwoFactor'>;
  callers: Pick<Callers, 'cookiePerson' | 'either' | 'refuseCrossSite'>;
}

const title = 'Two-factor';
export const twoFactorPath = '/account/two-factor';
const confirmPath = `${twoFactorPath}/confirm`;

export function twoFactorRoutes(options: AccountPagesOptions): Route[] {
  return [
    { method: 'GET', path: twoFactorPath, handle: (exchange) => show(options, exchange) },
    {
      method: 'POST',
      path: twoFactorPath,
      audit: 'startTwoFactorEnrolment',
      handle: (exchange) => start(options, exchange),
    },
    {
      method: 'POST',
      path: confirmPath,
      audit: 'confirmTwoFactorEnrolment',
      handle: (exchange) => confirm(options, exchange),
    },
  ];
}

/** Where a person goes after signing in: to this page first while a team requires two-factor. */
export function landing(
  reads: Pick<AccountReads, 'askingTwoFactor'>,
  userId: string,
  next: string,
): string {
  const isThere = next === twoFactorPath || next.startsWith(`${twoFactorPath}?`);
  return isThere || reads.askingTwoFactor(userId).length === 0 ? next : twoFactorPageAt(next);
}

function show(options: AccountPagesOptions, exchange: Exchange): void {
  const next = pathOnSite(exchange.query.get('next'), homePath);
  const person = personAt(exchange, options.callers);
  if (person === null) {
    redirect(exchange, loginFor(twoFactorPageAt(next)));
    return;
  }
  const user = userOf(options, person);
  sendPage(
    exchange,
    200,
    title,
    user.twoFactorEnabled ? onPage(next) : firstStep(options, user, next),
  );
}

async function start(options: AccountPagesOptions, exchange: Exchange): Promise<void> {
  const { person, form, next } = await read(options, exchange);
  const password = form.get('password') ?? '';
  const user = userOf(options, person);
  try {
    const { security } = await options.accounts();
    const made = await security.startTwoFactorEnrolment(person, { password }, originOf(exchange));
    const page = await enrolPage(made, next);
    sendPage(exchange, 200, title, page(null));
  } catch (error) {
    sendRefused(exchange, error, title, (problem) => firstStep(options, user, next, problem));
  }
}

async function confirm(options: AccountPagesOptions, exchange: Exchange): Promise<void> {
  const { person, form, next } = await read(options, exchange);
  const user = userOf(options, person);
  try {
    const { security } = await options.accounts();
    await security.confirmTwoFactorEnrolment(person, { code: form.get('code') ?? '' });
    sendPage(exchange, 200, title, onPage(next));
  } catch (error) {
    const isMistyped = error instanceof ServiceError && error.code === 'BAD_USER_INPUT';
    const shown = isMistyped ? shownBefore(form) : null;
    const again = shown && (await enrolPage(shown, next));
    sendRefused(
      exchange,
      error,
      title,
      again ?? ((problem) => firstStep(options, user, next, problem)),
    );
  }
}

async function read(
  options: AccountPagesOptions,
  exchange: Exchange,
): Promise<{ person: Person; form: URLSearchParams; next: string }> {
  const form = await readForm(exchange, options.callers);
  const person = options.callers.cookiePerson(exchange, { changes: true });
  return { person, form, next: pathOnSite(form.get('next'), homePath) };
}

function userOf(options: AccountPagesOptions, { userId }: Person): User {
  const user = options.accountReads.user(userId);
  if (!user) throw new ServiceError('UNAUTHENTICATED', 'Sign in first.');
  return user;
}

function firstStep(
  options: AccountPagesOptions,
  user: User,
  next: string,
  problem: Html | null = null,
) {
  const teams = options.accountReads.askingTwoFactor(user.id);
  return startPage({ email: user.email, teams, next }, problem);
}

const uriMax = 600;
const codesMax = 50;

/** The secret and codes that the form brought back; null when their form is wrong. */
function shownBefore(form: URLSearchParams): Enrolment | null {
  const uri = form.get('uri') ?? '';
  const recoveryCodes = (form.get('recoveryCodes') ?? '').split(' ').slice(0, codesMax);
  if (!uri.startsWith('otpauth://totp/') || uri.length > uriMax) return null;
  return { uri, recoveryCodes };
}

/** The page's address, with where it leads on to. */
function twoFactorPageAt(next: string): string {
  return `${twoFactorPath}?next=${encodeURIComponent(next)}`;
}

interface Enrolment {
  /** `otpauth://totp/…` */
  uri: string;
  recoveryCodes: readonly string[];
}

/** The first step: which team asks for it, and the password. */
function startPage(
  { email, teams, next }: { email: string; teams: readonly AskingTeam[]; next: string },
  problem: Html | null,
): Html {
  return html`<h1>Two-factor</h1>
    ${teams.map(teamNotice)}
    <p>A code from an app on your telephone, asked for after the password when you sign in.</p>
    ${problem}
    <form method="post" action="${twoFactorPath}">
      <input type="hidden" name="next" value="${next}" />
      <input type="hidden" name="email" value="${email}" autocomplete="username" />
      <label
        >Your password
        <input
          name="password"
          type="password"
          required
          ${focused}
          maxlength="128"
          autocomplete="current-password"
        />
      </label>
      <button>Turn on two-factor</button>
    </form>
    <a href="${next}">Not now</a>`;
}

function teamNotice({ name, graceUntilMs }: AskingTeam): Html {
  if (graceUntilMs === null) {
    return html`<p role="alert">
      <b>${name}</b> requires two-factor: until it is on, you and your tokens are kept out of it.
    </p>`;
  }
  return html`<p role="alert">
    <b>${name}</b> requires two-factor. From ${timeText(graceUntilMs)} on, you and your tokens are
    kept out of it without.
  </p>`;
}

/** Rounded down to the minute, so that nobody is promised more time than there is. */
function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** The second step: the secret and the recovery codes, shown once, and the first code. */
async function enrolPage(
  { uri, recoveryCodes }: Enrolment,
  next: string,
): Promise<(problem: Html | null) => Html> {
  // Most starts never come here, so the module is loaded on demand.
  const { renderSVG } = await import('uqr');
  const picture = renderSVG(uri, { border: 3 });
  return (problem) =>
    html`<h1>Two-factor</h1>
      <p>Scan this with an authenticator app.</p>
      <img src="data:image/svg+xml,${encodeURIComponent(picture)}" alt="QR code" />
      <p>Or type the key into it: <code>${keyOf(uri)}</code></p>
      <a href="${uri}" class="plain">Open an app on this device</a>
      <p>
        Keep these recovery codes in a safe place: each signs you in once when the app is lost. They
        are not shown again.
      </p>
      <ul>
        ${recoveryCodes.map((code) => html`<li><code>${code}</code></li>`)}
      </ul>
      ${problem}
      <form method="post" action="${confirmPath}">
        <input type="hidden" name="next" value="${next}" />
        <input type="hidden" name="uri" value="${uri}" />
        <input type="hidden" name="recoveryCodes" value="${recoveryCodes.join(' ')}" />
        <label
          >Code
          <input
            name="code"
            required
            ${focused}
            inputmode="numeric"
            maxlength="20"
            autocomplete="one-time-code"
          />
          <small>Six digits, from the app. Two-factor is on with the first.</small>
        </label>
        <button>Confirm</button>
      </form>
      <a href="${twoFactorPageAt(next)}">Start again</a>`;
}

/** The secret of an otpauth URI in groups of four. */
function keyOf(uri: string): string {
  const secret = URL.parse(uri)?.searchParams.get('secret') ?? '';
  return secret.replace(/(.{4})(?=.)/g, '$1 ');
}

function onPage(next: string): Html {
  return html`<h1>Two-factor is on</h1>
    <p>You are asked for a code after the password when you sign in.</p>
    <a href="${next}">Continue</a>`;
}
