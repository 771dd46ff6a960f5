/**
 * Owns the first page of an empty instance: a form, without script, that makes the first account, which
 * owns the instance. Then it leads on to the sign-in page.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Exchange, Route } from '../transport.ts';
import { originOf } from '../credentials.ts';
import { homePath, nameField, newPasswordField, readForm, sendRefused } from '../pages/form.ts';
import { html, redirect, sendPage } from '../pages/page.ts';
import type { Html } from '../pages/page.ts';
import type { LoginRoutesOptions } from './login.ts';

export interface SetupRoutesOptions extends LoginRoutesOptions {
  /** What the person who sets up the instance should know first. */
  warnings: () => string[];
}

const title = 'Set up';
export function setupRoutes(options: SetupRoutesOptions): Route[] {
  return [
    {
      method: 'GET',
      path: '/setup',
      handle(exchange) {
        if (!options.needsSetup()) {
          redirect(exchange, '/');
          return;
        }
        const form = new URLSearchParams({ setupCode: exchange.query.get('code') ?? '' });
        sendPage(exchange, 200, title, setupPage(form, stateOf(exchange, options, null)));
      },
    },
    {
      method: 'POST',
      path: '/setup',
      audit: 'completeSetup',
      handle: (exchange) => submit(exchange, options),
    },
  ];
}

async function submit(exchange: Exchange, options: SetupRoutesOptions): Promise<void> {
  const form = await readForm(exchange, options.callers);
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
      originOf(exchange),
    );
    redirect(exchange, homePath, cookies);
  } catch (error) {
    sendRefused(exchange, error, title, (problem) => {
      const isDone = error instanceof ServiceError && error.code === 'CONFLICT';
      return isDone ? donePage(problem) : setupPage(form, stateOf(exchange, options, problem));
    });
  }
}

function donePage(problem: Html): Html {
  return html`<h1>Set up Gangway</h1>
    ${problem}
    <a href="/login">Sign in</a>`;
}

interface PageState {
  needsCode: boolean;
  problem: Html | null;
  warnings: string[];
}

function stateOf(
  exchange: Exchange,
  { warnings }: SetupRoutesOptions,
  problem: Html | null,
): PageState {
  return { needsCode: !exchange.fromLoopback, problem, warnings: warnings() };
}

function setupPage(form: URLSearchParams, { needsCode, problem, warnings }: PageState): Html {
  return html`<h1>Set up Gangway</h1>
    <p>The first account owns this instance.</p>
    ${warnings.map((text) => html`<p role="note"><strong>Mind:</strong> ${text}</p>`)} ${problem}
    <form method="post" action="/setup">
      ${accountFields(form, problem !== null)} ${needsCode ? codeField(form) : null}
      <button>Create the account</button>
    </form>`;
}

/** A refused form must be sent again with the password, which no page repeats. */
function accountFields(form: URLSearchParams, again: boolean): Html {
  const value = (name: string): string => form.get(name) ?? '';
  return html`${nameField(value('name'), !again)}
    <label
      >Email
      <input
        name="email"
        type="email"
        value="${value('email')}"
        required
        maxlength="254"
        autocomplete="username"
      />
    </label>
    ${newPasswordField('Password', again)}
    <label
      >Team
      <input name="teamName" value="${value('teamName')}" required maxlength="100" />
      <small>Every app belongs to a team.</small>
    </label>`;
}

function codeField(form: URLSearchParams): Html {
  return html`<label
    >Setup code
    <input name="setupCode" value="${form.get('setupCode')}" required autocomplete="off" />
    <small>Gangway printed it where it was started.</small>
  </label>`;
}
