/**
 * Owns the pages that GitHub sends people back to: once their App is made, and once it is installed.
 *
 * 1. Only who began a connection finishes it, in the same session, while they may still do so.
 * 2. What GitHub is said to have done counts once GitHub itself says so: anybody may call these addresses.
 */
import type { GithubConnections } from '../../actors/git/github-connections.ts';
import type { GithubConnects } from '../../actors/git/github-connects.ts';
import { authorize, can, teamIdsOf } from '../../auth/rights/authorize.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { GitConnectionRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { type Callers, type Person, personAt } from '../credentials.ts';
import { asAsked, homePath, loginFor, sendRefused } from '../pages/form.ts';
import { type Html, html, redirect, sendPage } from '../pages/page.ts';
import type { Exchange, Route } from '../transport.ts';

export interface GithubConnectOptions {
  reader: Reader;
  callers: Pick<Callers, 'either'>;
  connects: Pick<GithubConnects, 'finish'>;
  github: Pick<GithubConnections, 'installation'>;
}

const title = 'Connect GitHub';
const setupPath = '/api/github/setup';
/** The newest of a person's connections that are asked whether an installation is theirs. */
const askedMax = 10;

export function githubConnectRoutes(options: GithubConnectOptions): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/github/callback',
      audit: 'github_connect',
      handle: (exchange) => {
        const person = personAt(exchange, options.callers);
        return orRefused(exchange, () => connect(options, exchange, person));
      },
    },
    {
      method: 'GET',
      path: setupPath,
      handle: (exchange) => {
        const person = personAt(exchange, options.callers);
        return orRefused(exchange, () => showInstallation(options, exchange, person));
      },
    },
  ];
}

async function orRefused(exchange: Exchange, answer: () => Promise<void>): Promise<void> {
  try {
    await answer();
  } catch (error) {
    sendRefused(exchange, error, title, (problem) => page(problem));
  }
}

async function connect(
  { reader, connects }: GithubConnectOptions,
  exchange: Exchange,
  person: Person | null,
): Promise<void> {
  // Another session could not finish it.
  if (person === null) throw new ServiceError('UNAUTHENTICATED', 'Sign in, and begin again.');
  const { query } = exchange;
  const installAt = await connects.finish({
    sessionId: person.sessionId,
    state: query.get('state') ?? '',
    code: query.get('code') ?? '',
    mayConnect: (teamId) => authorize(reader, person, 'manage_git', { kind: 'team', teamId }),
  });
  redirect(exchange, installAt);
}

async function showInstallation(
  options: GithubConnectOptions,
  exchange: Exchange,
  person: Person | null,
): Promise<void> {
  if (person === null) {
    redirect(exchange, loginFor(asAsked(setupPath, exchange)));
    return;
  }
  if (exchange.query.get('setup_action') === 'request') {
    sendPage(exchange, 200, title, page(html`<p>An owner of the account has to approve it.</p>`));
    return;
  }
  const account = await accountOf(options, person, exchange.query.get('installation_id') ?? '');
  const text = html`<p>
    The App is installed on <b>${account}</b>. Its repositories can be deployed.
  </p>`;
  sendPage(exchange, 200, title, page(text));
}

/** The account on which an App of the person's teams is installed. NOT_FOUND for an installation of none of them. */
async function accountOf(
  { reader, github }: GithubConnectOptions,
  person: Person,
  installationId: string,
): Promise<string> {
  const asked = /^[1-9]\d{0,14}$/.test(installationId) ? connectionsOf(reader, person) : [];
  for (const connection of asked) {
    try {
      const { account } = await github.installation(connection, Number(installationId));
      return account;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'GIT_PROVIDER_FAILED') throw error;
    }
  }
  throw new ServiceError('NOT_FOUND', 'GitHub knows no such installation of an App of your teams.');
}

function connectionsOf(reader: Reader, person: Person): Readonly<GitConnectionRecord>[] {
  return teamIdsOf(reader, person)
    .filter((teamId) => can(reader, person, 'manage_git', { kind: 'team', teamId }))
    .flatMap((id) => reader.list(tables.gitConnections, 'team', [id], { limit: Infinity }))
    .filter(({ github }) => github !== undefined)
    .sort((a, b) => b.createdAtMs - a.createdAtMs)
    .slice(0, askedMax);
}

function page(text: Html): Html {
  return html`<h1>${title}</h1>
    ${text} <a href="${homePath}">Go on</a>`;
}
