/**
 * Owns the page on which people turn two-factor on, without script, whatever a team that requires it
 * keeps them from.
 *
 * 1. It is for people: who is nobody is led to signing in and back, a token is refused.
 * 2. A form that another site's page sent starts and confirms nothing.
 * 3. What is shown once travels in the form of the person it was shown to, for a code that is mistyped;
 *    what confirms is what the service stored.
 */
import type { AccountReads, User } from '../../auth/callers/account-reads.ts';
import type { Accounts } from '../../auth/sign-in/accounts.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Exchange, Route } from '../transport.ts';
import { originOf } from '../credentials.ts';
import type { Callers, Person } from '../credentials.ts';
import { explorerPath, pathOnSite, readForm, sendRefused } from '../pages/form.ts';
import { redirect, sendPage } from '../pages/page.ts';
import {
  enrolPage,
  onPage,
  startPage,
  twoFactorConfirmPath,
  twoFactorPageAt,
  twoFactorPath,
} from '../pages/two-factor-page.ts';
import type { Enrolment } from '../pages/two-factor-page.ts';

export interface TwoFactorRoutesOptions {
  accounts: () => Promise<Accounts>;
  accountReads: Pick<AccountReads, 'user' | 'askingTwoFactor'>;
  callers: Pick<Callers, 'cookiePerson' | 'either' | 'refuseCrossSite'>;
}

const title = 'Two-factor';

export function twoFactorRoutes(options: TwoFactorRoutesOptions): Route[] {
  const pages = new TwoFactorPages(options);
  return [
    { method: 'GET', path: twoFactorPath, handle: (exchange) => pages.show(exchange) },
    {
      method: 'POST',
      path: twoFactorPath,
      audit: 'startTwoFactorEnrolment',
      handle: (exchange) => pages.start(exchange),
    },
    {
      method: 'POST',
      path: twoFactorConfirmPath,
      audit: 'confirmTwoFactorEnrolment',
      handle: (exchange) => pages.confirm(exchange),
    },
  ];
}

/** Where somebody who just came in is led: past this page while a team asks for two-factor. */
export function landing(
  reads: Pick<AccountReads, 'askingTwoFactor'>,
  userId: string,
  next: string,
): string {
  const isThere = next === twoFactorPath || next.startsWith(`${twoFactorPath}?`);
  return isThere || reads.askingTwoFactor(userId).length === 0 ? next : twoFactorPageAt(next);
}

class TwoFactorPages {
  readonly #options: TwoFactorRoutesOptions;

  constructor(options: TwoFactorRoutesOptions) {
    this.#options = options;
  }

  show(exchange: Exchange): void {
    const next = pathOnSite(exchange.query.get('next'), explorerPath);
    const principal = this.#options.callers.either(exchange, { changes: false });
    if (principal.kind === 'token') {
      throw new ServiceError('FORBIDDEN', 'An API token cannot do this; sign in.');
    }
    if (principal.kind === 'anonymous') {
      redirect(exchange, `/login?next=${encodeURIComponent(twoFactorPageAt(next))}`);
      return;
    }
    const user = this.#userOf(principal);
    sendPage(exchange, 200, title, user.twoFactorEnabled ? onPage(next) : this.#start(user, next));
  }

  async start(exchange: Exchange): Promise<void> {
    const { person, form, next } = await this.#read(exchange);
    const password = form.get('password') ?? '';
    const user = this.#userOf(person);
    try {
      const { security } = await this.#options.accounts();
      const made = await security.startTwoFactorEnrolment(person, { password }, originOf(exchange));
      const page = await enrolPage(made, next);
      sendPage(exchange, 200, title, page(null));
    } catch (error) {
      sendRefused(exchange, error, title, (problem) => this.#start(user, next, problem));
    }
  }

  async confirm(exchange: Exchange): Promise<void> {
    const { person, form, next } = await this.#read(exchange);
    const user = this.#userOf(person);
    try {
      const { security } = await this.#options.accounts();
      await security.confirmTwoFactorEnrolment(person, { code: form.get('code') ?? '' });
      sendPage(exchange, 200, title, onPage(next));
    } catch (error) {
      const isMistyped = error instanceof ServiceError && error.code === 'BAD_USER_INPUT';
      const shown = isMistyped ? shownBefore(form) : null;
      const again = shown && (await enrolPage(shown, next));
      sendRefused(exchange, error, title, again ?? ((problem) => this.#start(user, next, problem)));
    }
  }

  async #read(
    exchange: Exchange,
  ): Promise<{ person: Person; form: URLSearchParams; next: string }> {
    const { callers } = this.#options;
    const form = await readForm(exchange, (one) => {
      callers.refuseCrossSite(one);
    });
    const person = callers.cookiePerson(exchange, { changes: true });
    return { person, form, next: pathOnSite(form.get('next'), explorerPath) };
  }

  #userOf({ userId }: Person): User {
    const user = this.#options.accountReads.user(userId);
    if (!user) throw new ServiceError('UNAUTHENTICATED', 'Sign in first.');
    return user;
  }

  #start(user: User, next: string, problem: Parameters<typeof startPage>[1] = null) {
    const teams = this.#options.accountReads.askingTwoFactor(user.id);
    return startPage({ email: user.email, teams, next }, problem);
  }
}

const uriMax = 600;
const codesMax = 50;

/** What the form brought back of what was shown with it; null for what that cannot have been. */
function shownBefore(form: URLSearchParams): Enrolment | null {
  const uri = form.get('uri') ?? '';
  const recoveryCodes = (form.get('recoveryCodes') ?? '').split(' ').slice(0, codesMax);
  if (!uri.startsWith('otpauth://totp/') || uri.length > uriMax) return null;
  return { uri, recoveryCodes };
}
