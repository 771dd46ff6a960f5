/**
 * Owns signing in and out by pages, without script, and what `/` leads to: setup on an empty
 * instance, signing in for who is nobody yet, the explorer for everybody else.
 *
 * 1. After signing in the page leads to `next` when that is a path of this origin, else to the
 *    explorer; never to another site. Who lacks the two-factor that a team asks for comes by the page
 *    that turns it on.
 * 2. A form that another site's page sent neither signs in nor out.
 */
import type { AccountReads } from '../../auth/callers/account-reads.ts';
import type { Accounts } from '../../auth/sign-in/accounts.ts';
import type { Exchange, Route } from '../transport.ts';
import { originOf } from '../credentials.ts';
import type { Callers } from '../credentials.ts';
import { connectPath } from '../pages/connect-page.ts';
import { consolePath } from '../pages/console-page.ts';
import { focused } from '../pages/fields.ts';
import { explorerPath, pathOnSite, readForm, sendRefused } from '../pages/form.ts';
import { html, redirect, sendPage } from '../pages/page.ts';
import type { Html } from '../pages/page.ts';
import { twoFactorPath } from '../pages/two-factor-page.ts';
import { codePagePath, loginCodeRoutes } from './login-code.ts';
import { landing } from './two-factor.ts';

export interface LoginRoutesOptions {
  accounts: () => Promise<Accounts>;
  accountReads: Pick<AccountReads, 'user' | 'askingTwoFactor'>;
  needsSetup: () => boolean;
  callers: Pick<Callers, 'either' | 'refuseCrossSite'>;
}

const title = 'Sign in';
export function loginRoutes(options: LoginRoutesOptions): Route[] {
  const pages = new LoginPages(options);
  return [
    { method: 'GET', path: '/', handle: (exchange) => pages.home(exchange) },
    { method: 'GET', path: '/login', handle: (exchange) => pages.show(exchange) },
    {
      method: 'POST',
      path: '/login',
      audit: 'login',
      handle: (exchange) => pages.signIn(exchange),
    },
    {
      method: 'POST',
      path: '/logout',
      audit: 'logout',
      handle: (exchange) => pages.signOut(exchange),
    },
    ...loginCodeRoutes({
      accounts: options.accounts,
      refuseCrossSite: (exchange) => {
        options.callers.refuseCrossSite(exchange);
      },
    }),
  ];
}

class LoginPages {
  readonly #options: LoginRoutesOptions;

  constructor(options: LoginRoutesOptions) {
    this.#options = options;
  }

  home(exchange: Exchange): void {
    const { callers, needsSetup } = this.#options;
    if (needsSetup()) redirect(exchange, '/setup');
    else {
      const { kind } = callers.either(exchange, { changes: false });
      redirect(exchange, kind === 'anonymous' ? '/login' : explorerPath);
    }
  }

  show(exchange: Exchange): void {
    const { accountReads, callers, needsSetup } = this.#options;
    if (needsSetup()) {
      redirect(exchange, '/setup');
      return;
    }
    const principal = callers.either(exchange, { changes: false });
    const user = principal.kind === 'person' ? accountReads.user(principal.userId) : undefined;
    const next = pathOnSite(exchange.query.get('next'), explorerPath);
    if (user) sendPage(exchange, 200, 'Signed in', signedInPage(user, next));
    else sendPage(exchange, 200, title, signInPage('', next, null));
  }

  async signIn(exchange: Exchange): Promise<void> {
    const form = await readForm(exchange, (one) => this.#options.callers.refuseCrossSite(one));
    const email = form.get('email') ?? '';
    const next = pathOnSite(form.get('next'), explorerPath);
    try {
      const accounts = await this.#options.accounts();
      const password = form.get('password') ?? '';
      const origin = originOf(exchange);
      const signedIn = await accounts.login({ email, password }, origin);
      for (const cookie of signedIn.cookies) exchange.addHeader('Set-Cookie', cookie);
      const { user, requiresTwoFactor } = signedIn;
      const there = landing(this.#options.accountReads, user.id, next);
      redirect(exchange, requiresTwoFactor ? codePagePath(next) : there);
    } catch (error) {
      sendRefused(exchange, error, title, (problem) => signInPage(email, next, problem));
    }
  }

  async signOut(exchange: Exchange): Promise<void> {
    const { accounts, callers } = this.#options;
    callers.refuseCrossSite(exchange);
    const principal = callers.either(exchange, { changes: true });
    const cookies = await (await accounts()).logout(principal, originOf(exchange));
    for (const cookie of cookies) exchange.addHeader('Set-Cookie', cookie);
    redirect(exchange, '/login');
  }
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
