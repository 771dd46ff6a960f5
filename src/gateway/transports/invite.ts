/**
 * Owns the page behind an invite's link, without script. It shows a form to a new person, one button to a
 * person who is signed in, and a link to the sign-in page for people with an account.
 *
 * 1. Every faulty link gets the same friendly page with 404.
 * 2. A form that another site's page sent neither joins a team nor makes an account.
 * 3. The link is the credential: pages repeat it nowhere but in the address they were opened with.
 */
import type { InviteView } from '../../auth/sign-in/invitations.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Exchange, Route } from '../transport.ts';
import { originOf, type Person, personAt } from '../credentials.ts';
import { homePath, nameField, newPasswordField, readForm, sendRefused } from '../pages/form.ts';
import { html, type Html, redirect, sendPage } from '../pages/page.ts';
import { type AccountPagesOptions, landing } from './two-factor.ts';

const title = 'Invite';
export function inviteRoutes(options: AccountPagesOptions): Route[] {
  const pages = new InvitePages(options);
  const path = '/invite/:token';
  return [
    { method: 'GET', path, handle: (exchange) => pages.show(exchange) },
    { method: 'POST', path, audit: 'acceptInvite', handle: (exchange) => pages.accept(exchange) },
  ];
}

class InvitePages {
  readonly #options: AccountPagesOptions;

  constructor(options: AccountPagesOptions) {
    this.#options = options;
  }

  async show(exchange: Exchange): Promise<void> {
    const person = personAt(exchange, this.#options.callers);
    const token = exchange.param('token');
    try {
      const accounts = await this.#options.accounts();
      const view = accounts.invitations.view(token, originOf(exchange));
      sendPage(exchange, 200, title, this.#page(view, token, person, '', null));
    } catch (error) {
      sendRefused(exchange, error, title, noInvitePage);
    }
  }

  async accept(exchange: Exchange): Promise<void> {
    const { callers, accountReads } = this.#options;
    const form = await readForm(exchange, callers);
    const person = personAt(exchange, callers, { changes: true });
    const origin = originOf(exchange);
    const token = exchange.param('token');
    const accounts = await this.#options.accounts();
    try {
      const name = form.get('name') ?? '';
      const given = { token, name, password: form.get('password') ?? '' };
      const { user, cookies } = await accounts.invitations.accept(person ?? nobody, given, origin);
      redirect(exchange, landing(accountReads, user.id, homePath), cookies);
    } catch (error) {
      const view = viewAfter(error, () => accounts.invitations.view(token, origin));
      sendRefused(exchange, error, title, (problem) =>
        view === null
          ? noInvitePage(problem)
          : this.#page(view, token, person, form.get('name') ?? '', problem),
      );
    }
  }

  #page(
    view: InviteView,
    token: string,
    person: Person | null,
    name: string,
    problem: Html | null,
  ): Html {
    const user = person === null ? undefined : this.#options.accountReads.user(person.userId);
    const head = html`<h1>Join ${view.teamName}</h1>
      <p>You are invited as <b>${view.roleName}</b>.</p>
      ${problem}`;
    if (user) return html`${head}${joinForm(token, user)}`;
    if (view.hasAccount) return html`${head}${signInFirst(view.email, token)}`;
    return html`${head}${newPersonForm(view.email, token, name)}`;
  }
}

const nobody = { kind: 'anonymous' } as const;

/** What the form shows again; null when the invite is no longer good, or may not be read. */
function viewAfter(error: unknown, look: () => InviteView): InviteView | null {
  if (!(error instanceof ServiceError)) return null;
  if (error.code === 'NOT_FOUND' || error.code === 'RATE_LIMITED') return null;
  try {
    return look();
  } catch (thrown) {
    if (thrown instanceof ServiceError) return null;
    throw thrown;
  }
}

function joinForm(token: string, user: { name: string; email: string }): Html {
  return html`<p>You are signed in as <b>${user.name}</b>, ${user.email}.</p>
    <form method="post" action="/invite/${token}"><button>Join</button></form>`;
}

function signInFirst(email: string, token: string): Html {
  return html`<p>${email} has an account here: sign in to join with it.</p>
    <a href="/login?next=/invite/${token}">Sign in</a>`;
}

function newPersonForm(email: string, token: string, name: string): Html {
  const again = name !== '';
  return html`<form method="post" action="/invite/${token}">
    <label
      >Email
      <input type="email" value="${email}" readonly autocomplete="username" />
    </label>
    ${nameField(name, !again)} ${newPasswordField('Password', again)}
    <button>Create the account and join</button>
  </form>`;
}

function noInvitePage(problem: Html): Html {
  return html`<h1>No invite here</h1>
    ${problem}
    <p>A link is good for one person and for 7 days. Ask who invited you for a new one.</p>
    <a href="/">To Gangway</a>`;
}
