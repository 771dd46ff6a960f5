/**
 * Owns signing in and out by pages, without script.
 *
 * 1. After signing in the page leads to `next` when that is a path of this origin, else to the dashboard;
 *    never to another site. A person without the two-factor that a team requires first sees the page that
 *    turns it on.
 * 2. A form that another site's page sent neither signs in nor out.
 * 3. The second step asks for a code of the app, or a recovery code. It is open only after the password was
 *    given.
 */
import { pendingCookieName } from '../../auth/sign-in/pending-sign-ins.ts';
import { soleCookie } from '../../auth/callers/session-cookie.ts';
import type { Exchange, Route } from '../transport.ts';
import { originOf } from '../credentials.ts';
import { connectPath } from '../pages/connect-page.ts';
import { consolePath } from './console-pages.ts';
import { homePath, focused, loginFor, pathOnSite, readForm, sendRefused } from '../pages/form.ts';
import { html, redirect, sendPage } from '../pages/page.ts';
import type { Html } from '../pages/page.ts';
import { type AccountPagesOptions, landing, twoFactorPath } from './two-factor.ts';

export interface LoginRoutesOptions extends AccountPagesOptions {
  needsSetup: () => boolean;
}

const title = 'Sign in';
const codePath = '/login/two-factor';

export function loginRoutes(options: LoginRoutesOptions): Route[] {
  return [
    { method: 'GET', path: '/login', handle: (exchange) => show(exchange, options) },
    {
      method: 'POST',
      path: '/login',
      audit: 'login',
      handle: (exchange) => signIn(exchange, options),
    },
    {
      method: 'POST',
      path: '/logout',
      audit: 'logout',
      handle: (exchange) => signOut(exchange, options),
    },
    { method: 'GET', path: codePath, handle: showCodePage },
    {
      method: 'POST',
      path: codePath,
      audit: 'verifyTwoFactorLogin',
      handle: (exchange) => verify(exchange, options),
    },
  ];
}

function show(exchange: Exchange, { accountReads, callers, needsSetup }: LoginRoutesOptions): void {
  if (needsSetup()) {
    redirect(exchange, '/setup');
    return;
  }
  const principal = callers.either(exchange, { changes: false });
  const user = principal.kind === 'person' ? accountReads.user(principal.userId) : undefined;
  const next = pathOnSite(exchange.query.get('next'), homePath);
  if (user) sendPage(exchange, 200, 'Signed in', signedInPage(user, next));
  else sendPage(exchange, 200, title, signInPage('', next, null));
}

async function signIn(exchange: Exchange, options: LoginRoutesOptions): Promise<void> {
  const form = await readForm(exchange, options.callers);
  const email = form.get('email') ?? '';
  const next = pathOnSite(form.get('next'), homePath);
  try {
    const accounts = await options.accounts();
    const password = form.get('password') ?? '';
    const origin = originOf(exchange);
    const { user, requiresTwoFactor, cookies } = await accounts.login({ email, password }, origin);
    const there = landing(options.accountReads, user.id, next);
    redirect(exchange, requiresTwoFactor ? codePagePath(next) : there, cookies);
  } catch (error) {
    sendRefused(exchange, error, title, (problem) => signInPage(email, next, problem));
  }
}

async function signOut(
  exchange: Exchange,
  { accounts, callers }: LoginRoutesOptions,
): Promise<void> {
  callers.refuseCrossSite(exchange);
  const principal = callers.either(exchange, { changes: true });
  const cookies = await (await accounts()).logout(principal, originOf(exchange));
  redirect(exchange, '/login', cookies);
}

function showCodePage(exchange: Exchange): void {
  const next = pathOnSite(exchange.query.get('next'), homePath);
  if (soleCookie(exchange.header('cookie'), pendingCookieName) === '') {
    redirect(exchange, loginFor(next));
    return;
  }
  const recovery = exchange.query.get('recovery') === '1';
  sendPage(exchange, 200, title, codePage(next, recovery, null));
}

async function verify(
  exchange: Exchange,
  { accounts, callers }: LoginRoutesOptions,
): Promise<void> {
  const form = await readForm(exchange, callers);
  const next = pathOnSite(form.get('next'), homePath);
  const recoveryCode = form.get('recovery') === '1';
  try {
    const { security } = await accounts();
    const { cookies } = await security.verifyTwoFactorLogin(
      { code: form.get('code') ?? '', recoveryCode, cookieHeader: exchange.header('cookie') },
      originOf(exchange),
    );
    redirect(exchange, next, cookies);
  } catch (error) {
    sendRefused(exchange, error, title, (problem) => codePage(next, recoveryCode, problem));
  }
}

function codePagePath(next: string, recovery = false): string {
  return `${codePath}?${recovery ? 'recovery=1&' : ''}next=${encodeURIComponent(next)}`;
}

function signInPage(email: string, next: string, problem: Html | null): Html {
  const again = email !== '';
  return html`<h1>Sign in</h1>
    ${problem}
    <form method="post" action="/login">
      <input type="hidden" name="next" value="${next}" />
      <label
        >Email
        <input
          name="email"
          type="email"
          value="${email}"
          required
          ${again ? null : focused}
          maxlength="254"
          autocomplete="username"
        />
      </label>
      <label
        >Password
        <input
          name="password"
          type="password"
          required
          ${again ? focused : null}
          maxlength="128"
          autocomplete="current-password"
        />
      </label>
      <button>Sign in</button>
    </form>`;
}

function signedInPage(user: { name: string; email: string }, next: string): Html {
  return html`<h1>Signed in</h1>
    <p>As <b>${user.name}</b>, ${user.email}.</p>
    <a href="${next}">Continue</a>
    <a href="${connectPath}" class="plain">Connect an AI client</a>
    <a href="${consolePath}" class="plain">Consoles</a>
    <a href="${twoFactorPath}" class="plain">Two-factor</a>
    <form method="post" action="/logout">
      <button>Sign out</button>
    </form>`;
}

function codePage(next: string, recovery: boolean, problem: Html | null): Html {
  return html`<h1>Sign in</h1>
    <p>${recovery ? 'Each recovery code is good once.' : 'Your account asks for a second step.'}</p>
    ${problem}
    <form method="post" action="${codePath}">
      <input type="hidden" name="next" value="${next}" />
      ${recovery ? recoveryField : codeField}
      <button>Sign in</button>
    </form>
    <a href="${codePagePath(next, !recovery)}"
      >${recovery ? 'Use the app' : 'Use a recovery code'}</a
    >
    <a href="${loginFor(next)}">Start again</a>`;
}

const codeField = html`<label
  >Code
  <input
    name="code"
    required
    autofocus
    inputmode="numeric"
    maxlength="20"
    autocomplete="one-time-code"
  />
  <small>Six digits, from your authenticator app.</small>
</label>`;

const recoveryField = html`<input type="hidden" name="recovery" value="1" /><label
    >Recovery code
    <input name="code" required autofocus maxlength="40" autocomplete="off" spellcheck="false" />
  </label>`;
