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
import { type Callers, originOf, type Person, personAt } from '../credentials.ts';
import { explorerPath, loginFor, pathOnSite, readForm, sendRefused } from '../pages/form.ts';
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
      path: twoFactorConfirmPath,
      audit: 'confirmTwoFactorEnrolment',
      handle: (exchange) => confirm(options, exchange),
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

function show(options: TwoFactorRoutesOptions, exchange: Exchange): void {
  const next = pathOnSite(exchange.query.get('next'), explorerPath);
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

async function start(options: TwoFactorRoutesOptions, exchange: Exchange): Promise<void> {
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

async function confirm(options: TwoFactorRoutesOptions, exchange: Exchange): Promise<void> {
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
  options: TwoFactorRoutesOptions,
  exchange: Exchange,
): Promise<{ person: Person; form: URLSearchParams; next: string }> {
  const form = await readForm(exchange, options.callers);
  const person = options.callers.cookiePerson(exchange, { changes: true });
  return { person, form, next: pathOnSite(form.get('next'), explorerPath) };
}

function userOf(options: TwoFactorRoutesOptions, { userId }: Person): User {
  const user = options.accountReads.user(userId);
  if (!user) throw new ServiceError('UNAUTHENTICATED', 'Sign in first.');
  return user;
}

function firstStep(
  options: TwoFactorRoutesOptions,
  user: User,
  next: string,
  problem: Parameters<typeof startPage>[1] = null,
) {
  const teams = options.accountReads.askingTwoFactor(user.id);
  return startPage({ email: user.email, teams, next }, problem);
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
