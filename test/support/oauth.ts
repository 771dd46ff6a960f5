/** A person and a client that go through an authorization over HTTP, without a browser. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { type Answer, Client, type Place } from './gangway-client.ts';

export const redirectUri = 'http://127.0.0.1:53127/callback';

export interface Registered {
  client_id: string;
  client_secret?: string;
}

export interface Tokens {
  access_token: string;
  refresh_token: string;
  scope: string;
}

export function registration(over: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    client_name: 'A client',
    redirect_uris: ['http://127.0.0.1/callback'],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    ...over,
  };
}

/** `address` is where a trusted proxy says that the client is: registrations are limited for each. */
export async function register(
  url: string,
  over: Record<string, unknown> = {},
  address?: string,
): Promise<{
  status: number;
  headers: Headers;
  body: Registered & Record<string, unknown>;
}> {
  const from = address === undefined ? {} : { 'x-forwarded-for': address };
  const answer = await fetch(`${url}/api/auth/oauth2/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...from },
    body: JSON.stringify(registration(over)),
  });
  return {
    status: answer.status,
    headers: answer.headers,
    body: (await answer.json()) as Registered & Record<string, unknown>,
  };
}

export function pkce(): { verifier: string; challenge: string } {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

export function authorizationQuery(
  clientId: string,
  challenge: string,
  over: Record<string, string> = {},
): string {
  return new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    state: 'a-state',
    scope: 'offline_access view_logs deploy_apps',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...over,
  }).toString();
}

export interface Choice {
  /** Left ticked; default all that are offered. */
  keep?: readonly string[];
  decision?: 'allow' | 'deny';
  /** Of what is posted. */
  over?: Record<string, string>;
}

/** The consent page of a signed-in person: its form, as it stands. */
export async function consentForm(person: Client, authorizeUrl: string): Promise<URLSearchParams> {
  const { pathname, search } = new URL(authorizeUrl, person.url);
  const led = await person.ask(pathname + search);
  const to = led.headers.get('location') ?? '';
  assert.match(to, /^\/api\/auth\/oauth2\/consent\?/, led.text.slice(-400));
  const page = await person.ask(to);
  assert.equal(page.status, 200, page.text);
  return formIn(page.text);
}

/** Through the consent page, as a browser without script would send it. */
export async function consent(
  person: Client,
  authorizeUrl: string,
  { keep, decision = 'allow', over = {} }: Choice = {},
): Promise<Answer> {
  const form = await consentForm(person, authorizeUrl);
  const kept = form.getAll('capability').filter((one) => keep?.includes(one) ?? true);
  form.delete('capability');
  for (const one of kept) form.append('capability', one);
  form.set('decision', decision);
  for (const [name, value] of Object.entries(over)) form.set(name, value);
  return person.ask('/api/auth/oauth2/consent', { method: 'POST', body: form });
}

/** The address that the person is led to after consenting. */
export async function redirectAfter(answer: Promise<Answer>): Promise<URL> {
  const { status, headers, text } = await answer;
  assert.equal(status, 303, text);
  return new URL(headers.get('location') ?? '');
}

export async function post(
  url: string,
  endpoint: string,
  form: Record<string, string> | URLSearchParams,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Record<string, unknown>; headers: Headers }> {
  const answer = await fetch(`${url}/api/auth/oauth2/${endpoint}`, {
    method: 'POST',
    headers,
    body: new URLSearchParams(form),
  });
  const text = await answer.text();
  const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  return { status: answer.status, body, headers: answer.headers };
}

export interface Authorized {
  clientId: string;
  code: string;
  verifier: string;
  redeem: (over?: Record<string, string>) => ReturnType<typeof post>;
}

/** A code that was consented to. */
export async function authorized(
  person: Client,
  clientId: string,
  over: Record<string, string> = {},
  choice: Choice = {},
): Promise<Authorized> {
  const { verifier, challenge } = pkce();
  const query = authorizationQuery(clientId, challenge, over);
  const to = await redirectAfter(consent(person, `/api/auth/oauth2/authorize?${query}`, choice));
  const code = to.searchParams.get('code') ?? '';
  const form = {
    grant_type: 'authorization_code',
    client_id: clientId,
    redirect_uri: over['redirect_uri'] ?? redirectUri,
    code,
    code_verifier: verifier,
  };
  return {
    clientId,
    code,
    verifier,
    redeem: (more = {}) => post(person.url, 'token', { ...form, ...more }),
  };
}

export async function tokensOf(answer: ReturnType<typeof post>): Promise<Tokens> {
  const { status, body } = await answer;
  assert.equal(status, 200, JSON.stringify(body));
  return body as unknown as Tokens;
}

/** Whether a token opens the API. */
export async function works(place: Place, accessToken: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${accessToken}` };
  const { errors } = await new Client(place).graphql('{ myTeams { id } }', {}, headers);
  if (errors[0]?.extensions.code === 'UNAUTHENTICATED') return false;
  assert.deepEqual(errors, []);
  return true;
}

function formIn(page: string): URLSearchParams {
  const form = new URLSearchParams();
  const main = page.slice(page.indexOf('method="post"'));
  for (const [tag] of main.matchAll(/<input\b[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(tag)?.[1];
    const value = /value="([^"]*)"/.exec(tag)?.[1] ?? '';
    if (name !== undefined) form.append(name, unescaped(value));
  }
  return form;
}

function unescaped(text: string): string {
  return text.replace(/&#(\d+);/g, (_all, code: string) => String.fromCharCode(Number(code)));
}
