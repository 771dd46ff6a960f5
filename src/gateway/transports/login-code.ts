/**
 * Owns the second step of signing in by pages, without script: a code of the app, or a recovery code.
 * Who did not give the password before has nothing to do here.
 */
import type { Accounts } from '../../auth/sign-in/accounts.ts';
import { pendingCookieName } from '../../auth/sign-in/pending-sign-ins.ts';
import { soleCookie } from '../../auth/callers/session-cookie.ts';
import type { Exchange, Route } from '../transport.ts';
import { originOf } from '../credentials.ts';
import { explorerPath, pathOnSite, readForm, sendRefused } from '../pages/form.ts';
import { html, redirect, sendPage } from '../pages/page.ts';
import type { Html } from '../pages/page.ts';

export interface LoginCodeRoutesOptions {
  accounts: () => Promise<Accounts>;
  refuseCrossSite: (exchange: Exchange) => void;
}

const path = '/login/two-factor';
const title = 'Sign in';

/** Where the second step is taken; `next` is where it leads on to. */
export function codePagePath(next: string, recovery = false): string {
  return `${path}?${recovery ? 'recovery=1&' : ''}next=${encodeURIComponent(next)}`;
}

export function loginCodeRoutes(options: LoginCodeRoutesOptions): Route[] {
  return [
    { method: 'GET', path, handle: show },
    {
      method: 'POST',
      path,
      audit: 'verifyTwoFactorLogin',
      handle: (exchange) => submit(exchange, options),
    },
  ];
}

function show(exchange: Exchange): void {
  const next = pathOnSite(exchange.query.get('next'), explorerPath);
  if (soleCookie(exchange.header('cookie'), pendingCookieName) === '') {
    redirect(exchange, startPath(next));
    return;
  }
  const recovery = exchange.query.get('recovery') === '1';
  sendPage(exchange, 200, title, codePage(next, recovery, null));
}

async function submit(exchange: Exchange, options: LoginCodeRoutesOptions): Promise<void> {
  const form = await readForm(exchange, options.refuseCrossSite);
  const next = pathOnSite(form.get('next'), explorerPath);
  const recoveryCode = form.get('recovery') === '1';
  try {
    const { security } = await options.accounts();
    const { cookies } = await security.verifyTwoFactorLogin(
      { code: form.get('code') ?? '', recoveryCode, cookieHeader: exchange.header('cookie') },
      originOf(exchange),
    );
    for (const cookie of cookies) exchange.addHeader('Set-Cookie', cookie);
    redirect(exchange, next);
  } catch (error) {
    sendRefused(exchange, error, title, (problem) => codePage(next, recoveryCode, problem));
  }
}

function startPath(next: string): string {
  return `/login?next=${encodeURIComponent(next)}`;
}

function codePage(next: string, recovery: boolean, problem: Html | null): Html {
  return html`<h1>Sign in</h1>
    <p>${recovery ? 'Each recovery code is good once.' : 'Your account asks for a second step.'}</p>
    ${problem}
    <form method="post" action="${path}">
      <input type="hidden" name="next" value="${next}" />
      ${recovery ? recoveryField : codeField}
      <button>Sign in</button>
    </form>
    <a href="${codePagePath(next, !recovery)}"
      >${recovery ? 'Use the app' : 'Use a recovery code'}</a
    >
    <a href="${startPath(next)}">Start again</a>`;
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
