/**
 * Owns the page behind the link of `gangway reset-password`: a form, without script, that sets a new
 * password. The link is the credential. Signing in still asks for the second factor.
 */
import type { Accounts } from '../../auth/sign-in/accounts.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Exchange, Route } from '../transport.ts';
import { originOf } from '../credentials.ts';
import { newPasswordField, readForm, sendRefused } from '../pages/form.ts';
import { html, sendPage } from '../pages/page.ts';
import type { Html } from '../pages/page.ts';
import type { AccountPagesOptions } from './two-factor.ts';

export type ResetRoutesOptions = Pick<AccountPagesOptions, 'accounts' | 'callers'>;

const title = 'New password';
const path = '/reset/:token';

export function resetRoutes(options: ResetRoutesOptions): Route[] {
  return [
    { method: 'GET', path, handle: (exchange) => show(exchange, options) },
    {
      method: 'POST',
      path,
      audit: 'resetPassword',
      handle: (exchange) => submit(exchange, options),
    },
  ];
}

async function show(exchange: Exchange, { accounts }: ResetRoutesOptions): Promise<void> {
  const token = exchange.param('token');
  const { security } = await accounts();
  const reset = await security.findReset(token);
  if (reset === null) sendPage(exchange, 404, title, deadPage());
  else sendPage(exchange, 200, title, formPage(token, reset, null));
}

async function submit(exchange: Exchange, options: ResetRoutesOptions): Promise<void> {
  const form = await readForm(exchange, options.callers);
  const token = exchange.param('token');
  const { security } = await options.accounts();
  const reset = await security.findReset(token);
  if (reset === null) {
    sendPage(exchange, 404, title, deadPage());
    return;
  }
  try {
    await security.resetPassword(token, form.get('password') ?? '', originOf(exchange));
    sendPage(exchange, 200, title, donePage());
  } catch (error) {
    sendRefused(exchange, error, title, (problem) => {
      const isDead = error instanceof ServiceError && error.code === 'NOT_FOUND';
      return isDead ? deadPage() : formPage(token, reset, problem);
    });
  }
}

type Reset = NonNullable<Awaited<ReturnType<Accounts['security']['findReset']>>>;

function formPage(token: string, { user, endsTwoFactor }: Reset, problem: Html | null): Html {
  const factor = endsTwoFactor ? ' and turns two-factor off' : '';
  return html`<h1>New password</h1>
    <p>For <b>${user.email}</b>. It ends every session of this account${factor}.</p>
    ${problem}
    <form method="post" action="/reset/${token}">
      <input type="hidden" name="email" value="${user.email}" autocomplete="username" />
      ${newPasswordField('New password', true)}
      <button>Set the password</button>
    </form>`;
}

function donePage(): Html {
  return html`<h1>New password</h1>
    <p>Your password is set.</p>
    <a href="/login">Sign in</a>`;
}

function deadPage(): Html {
  return html`<h1>New password</h1>
    <p role="alert">This link was used, or is too old.</p>
    <p>Who runs this instance can make another: gangway reset-password.</p>`;
}
