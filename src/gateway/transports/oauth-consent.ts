/**
 * Owns the pages of an authorization: where a client's request leads, and the consent page, in plain HTML
 * without script.
 *
 * 1. The page shows the client's own name, escaped, and the checked address that the answer will go to.
 * 2. The page offers only what the person holds in the chosen team, each permission by itself.
 * 3. A decision must come from our own page, with the session that the page was made for.
 */
import type { Authorization, ConsentRequest, Person } from '../../auth/oauth/provider.ts';
import type { OAuth } from '../../auth/oauth/oauth.ts';
import { isLoopbackTarget, policySource } from '../../auth/oauth/redirects.ts';
import type { Capability } from '../../lib/capabilities.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { TeamRecord } from '../../store/records/records.ts';
import type { Exchange, Route } from '../transport.ts';
import type { Callers } from '../credentials.ts';
import { loginFor, readForm, sendRefused } from '../pages/form.ts';
import { type Html, html, pagePolicy, redirect, sendPage } from '../pages/page.ts';

export type ConsentTeam = Readonly<Pick<TeamRecord, 'id' | 'name'>>;

export interface ConsentOptions {
  oauth: OAuth;
  callers: Pick<Callers, 'either' | 'cookiePerson' | 'refuseCrossSite'>;
  /** The teams of a person. */
  teamsOf: (person: Person) => ConsentTeam[];
  /** The capabilities of a person in a team; none where a second factor is due. */
  capabilitiesIn: (person: Person, teamId: string) => readonly Capability[];
}

const authorizePath = '/api/auth/oauth2/authorize';
const consentPath = '/api/auth/oauth2/consent';
const title = 'Allow access';

export function consentRoutes(options: ConsentOptions): Route[] {
  return [
    { method: 'GET', path: authorizePath, handle: (exchange) => authorize(options, exchange) },
    { method: 'GET', path: consentPath, handle: (exchange) => show(options, exchange) },
    {
      method: 'POST',
      path: consentPath,
      audit: 'oauth_consent',
      handle: (exchange) => decide(options, exchange),
    },
  ];
}

async function authorize(options: ConsentOptions, exchange: Exchange): Promise<void> {
  const person = personOf(options, exchange);
  const { provider } = options.oauth;
  const cookie = exchange.header('cookie');
  lead(exchange, await provider.authorize(exchange.query, person, cookie));
}

async function show(options: ConsentOptions, exchange: Exchange): Promise<void> {
  const person = personOf(options, exchange);
  if (!person) {
    redirect(exchange, loginFor(`${consentPath}?${exchange.query.toString()}`));
    return;
  }
  const request = exchange.query.get('request') ?? '';
  const asked = await options.oauth.provider.openConsent(request, person);
  if (!asked) {
    sendStopped(exchange, 'This request has run out. Start again at the client.');
    return;
  }
  const teamId = exchange.query.get('team') ?? person.teamId;
  send(options, exchange, 200, person, { asked, request, teamId, problem: null });
}

async function decide(options: ConsentOptions, exchange: Exchange): Promise<void> {
  const { callers, oauth } = options;
  const form = await readForm(exchange, callers);
  const person = callers.cookiePerson(exchange, { changes: true });
  const request = form.get('request') ?? '';
  const cookie = exchange.header('cookie');
  const teamId = form.get('team') ?? '';
  try {
    if (form.get('decision') === 'deny') {
      leave(exchange, await oauth.provider.deny(person, cookie, request));
    } else if (form.get('decision') === 'allow') {
      const capabilities = form.getAll('capability');
      const choice = { teamId, capabilities };
      leave(exchange, await oauth.provider.allow(person, cookie, request, choice));
    } else throw new ServiceError('BAD_USER_INPUT', 'Allow or refuse.');
  } catch (error) {
    const asked = await oauth.provider.openConsent(request, person);
    if (asked && error instanceof ServiceError && error.code !== 'INTERNAL') {
      const problem = html`<p role="alert">${error.message}</p>`;
      send(options, exchange, error.status, person, { asked, request, teamId, problem });
    } else sendRefused(exchange, error, title, stopped);
  }
}

function send(
  options: ConsentOptions,
  exchange: Exchange,
  status: number,
  person: Person,
  shown: Shown,
): void {
  const { teamsOf, capabilitiesIn } = options;
  const teams = teamsOf(person);
  const team = teams.find((one) => one.id === shown.teamId) ?? teams[0];
  const held = team ? capabilitiesIn(person, team.id) : [];
  const page = consentPage({ ...shown, teams, team, held });
  sendPage(exchange, status, title, page, {
    'Content-Security-Policy': pagePolicy([policySource(shown.asked.redirectUri)]),
  });
}

function personOf(options: ConsentOptions, exchange: Exchange): Person | null {
  const principal = options.callers.either(exchange, { changes: false });
  return principal.kind === 'person' ? principal : null;
}

interface Shown {
  asked: ConsentRequest;
  request: string;
  teamId: string | null;
  problem: Html | null;
}

interface ConsentPage extends Shown {
  teams: readonly ConsentTeam[];
  team: ConsentTeam | undefined;
  held: readonly Capability[];
}

function lead(exchange: Exchange, authorization: Authorization): void {
  switch (authorization.to) {
    case 'login':
      redirect(exchange, loginFor(authorization.next));
      return;
    case 'consent':
      redirect(exchange, `${consentPath}?request=${encodeURIComponent(authorization.request)}`);
      return;
    case 'client':
      leave(exchange, authorization.location);
      return;
    case 'nobody':
      sendStopped(exchange, authorization.detail);
  }
}

/** Redirects to the client. The client learns only what stands in the address. */
function leave(exchange: Exchange, location: string): void {
  const headers = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' };
  exchange.send(303, { Location: location, ...headers }, '');
}

function sendStopped(exchange: Exchange, detail: string): void {
  sendPage(exchange, 400, title, stopped(html`<p role="alert">${detail}</p>`));
}

function stopped(problem: Html): Html {
  return html`<h1>This cannot go on</h1>
    ${problem}`;
}

function consentPage(page: ConsentPage): Html {
  const { asked, problem, team, held } = page;
  const { client, redirectUri, identity } = asked;
  const offered = asked.capabilities.filter((one) => held.includes(one));
  const withheld = asked.capabilities.length - offered.length;
  const place = isLoopbackTarget(redirectUri) ? ' (a program on your own machine)' : '';
  return html`<h1>Allow access?</h1>
    <p><b>${client.name}</b>, as it calls itself, wants to act for you in Gangway.</p>
    <p>The answer goes to <b>${client.host}</b>${place}.</p>
    ${problem} ${teamChoice(page)}
    <form method="post" action="${consentPath}">
      <input type="hidden" name="request" value="${page.request}" />
      <input type="hidden" name="team" value="${team?.id ?? ''}" />
      <fieldset>
        <legend>In the team ${team?.name ?? ''} it sees what you see, and may</legend>
        ${offered.map(
          (one) =>
            html`<label>
              <input type="checkbox" name="capability" value="${one}" checked />
              ${one.replaceAll('_', ' ')}
            </label> `,
        )}
      </fieldset>
      ${
        withheld > 0
          ? html`<p>It asked for ${withheld} more, which you do not hold in this team.</p>`
          : null
      }
      ${identity.includes('openid') ? html`<p>${identityText(identity)}</p>` : null}
      ${
        identity.includes('offline_access')
          ? html`<p>It stays connected until you revoke it, or does not call for 30 days.</p>`
          : html`<p>It is connected for an hour.</p>`
      }
      <button name="decision" value="allow">Allow</button>
      <button name="decision" value="deny" class="plain">Refuse</button>
    </form>`;
}

/** A form of its own: without script, another team is another page. */
function teamChoice({ request, teams, team }: ConsentPage): Html | null {
  if (teams.length < 2) return null;
  return html`<form method="get" action="${consentPath}">
    <input type="hidden" name="request" value="${request}" />
    <label
      >Team
      <select name="team">
        ${teams.map(
          (one) =>
            html`<option value="${one.id}" ${one.id === team?.id ? html`selected` : null}>
              ${one.name}
            </option>`,
        )}
      </select>
    </label>
    <button class="plain">Show this team</button>
  </form>`;
}

function identityText(identity: readonly string[]): string {
  const parts = ['It learns who you are'];
  if (identity.includes('profile')) parts.push('your name');
  if (identity.includes('email')) parts.push('your e-mail address');
  return `${parts.join(', ')}.`;
}
