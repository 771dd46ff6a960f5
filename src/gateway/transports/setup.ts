/**
 * Owns the first page of an empty instance: a form, without script, that makes the first account,
 * which owns the instance. Afterwards it leads on to the explorer, and so does `/`.
 */
import type { Accounts } from '../../auth/accounts-contract.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Exchange, Route } from '../contract.ts';
import { html, redirect, sendPage } from '../pages/page.ts';
import type { Html } from '../pages/page.ts';

export interface SetupRoutesOptions {
  accounts: () => Promise<Accounts>;
  needsSetup: () => boolean;
  /** Throws CROSS_SITE for a form that was sent from elsewhere. */
  refuseCrossSite: (exchange: Exchange) => void;
}

const formBytesMax = 16_384;
const explorer = '/api/graphql';

export function setupRoutes(options: SetupRoutesOptions): Route[] {
  return [
    {
      method: 'GET',
      path: '/',
      handle(exchange) {
        redirect(exchange, options.needsSetup() ? '/setup' : explorer);
      },
    },
    {
      method: 'GET',
      path: '/setup',
      handle(exchange) {
        if (!options.needsSetup()) {
          redirect(exchange, explorer);
          return;
        }
        const form = new URLSearchParams({ setupCode: exchange.query.get('code') ?? '' });
        sendPage(exchange, 200, 'Set up', setupForm(form, !exchange.fromLoopback, null));
      },
    },
    { method: 'POST', path: '/setup', handle: (exchange) => submit(exchange, options) },
  ];
}

async function submit(exchange: Exchange, options: SetupRoutesOptions): Promise<void> {
  options.refuseCrossSite(exchange);
  const type = exchange.header('content-type').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') {
    throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', 'Send the form as it is.');
  }
  const form = new URLSearchParams((await exchange.body(formBytesMax)).toString('utf8'));
  const field = (name: string): string => form.get(name) ?? '';
  try {
    const accounts = await options.accounts();
    const { cookies } = await accounts.completeSetup(
      {
        email: field('email'),
        password: field('password'),
        name: field('name'),
        teamName: field('teamName'),
        setupCode: field('setupCode') || null,
      },
      {
        address: exchange.address,
        fromLoopback: exchange.fromLoopback,
        secure: exchange.secure,
        userAgent: exchange.header('user-agent'),
      },
    );
    for (const cookie of cookies) exchange.addHeader('Set-Cookie', cookie);
    redirect(exchange, explorer);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status >= 500) throw error;
    const page = setupForm(form, !exchange.fromLoopback, error.message);
    sendPage(exchange, error.status, 'Set up', page);
  }
}

function setupForm(form: URLSearchParams, needsCode: boolean, problem: string | null): Html {
  const value = (name: string): string => form.get(name) ?? '';
  const code = html`<label
    >Setup code
    <input name="setupCode" value="${value('setupCode')}" required autocomplete="off" />
    <small>Gangway printed it where it was started.</small>
  </label>`;
  return html`<h1>Set up Gangway</h1>
    <p>The first account owns this instance.</p>
    ${problem === null ? null : html`<p role="alert">${problem}</p>`}
    <form method="post" action="/setup">
      <label
        >Your name
        <input name="name" value="${value('name')}" required maxlength="100" autocomplete="name" />
      </label>
      <label
        >Email
        <input
          name="email"
          type="email"
          value="${value('email')}"
          required
          autocomplete="username"
        />
      </label>
      <label
        >Password
        <input
          name="password"
          type="password"
          required
          minlength="10"
          maxlength="128"
          autocomplete="new-password"
        />
        <small>10 characters at least.</small>
      </label>
      <label
        >Team
        <input name="teamName" value="${value('teamName')}" required maxlength="100" />
      </label>
      ${needsCode ? code : null}
      <button>Create the account</button>
    </form>`;
}
