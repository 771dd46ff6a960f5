/**
 * Owns what a client asks of the provider itself: registration, tokens, their revocation and
 * introspection, and who the person is.
 *
 * 1. A code or a refresh token that is used a second time ends the grant it belongs to (RFC 9700,
 *    4.14).
 * 2. A token that a client revokes ends its grant, and open streams with it.
 * 3. Tokens of a grant that has ended are refused here, too.
 */
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { AuthRecord } from '../../store/records/records.ts';
import { tokenHash } from '../callers/token-codec.ts';
import type { OAuthGrants, TokenModel } from './grants.ts';
import type { LibraryAnswer, LibraryRequest, OAuthLibrary } from './library.ts';
import { accessTokenMs, refreshPrefix, refreshTokenMs } from './lifetimes.ts';
import { plainResource, recordIn, repeatedName } from './provider.ts';
import { impliedApplicationType } from './redirects.ts';
import { scopesIn } from './scopes.ts';

export interface OAuthEndpointsOptions {
  clock: Clock;
  grants: OAuthGrants;
  publicUrl: () => string;
  library: () => Promise<OAuthLibrary>;
}

export interface EndpointAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Readonly<Record<string, unknown>> | null;
}

/** A form as a client sends it, and how it says who it is. */
export interface ClientForm {
  form: URLSearchParams;
  authorization: string;
}

const clientsMax = 10_000;
const redirectUrisMax = 20;

export class OAuthEndpoints {
  readonly #options: OAuthEndpointsOptions;

  constructor(options: OAuthEndpointsOptions) {
    this.#options = options;
  }

  /** RFC 7591. OVERLOADED when there are as many clients as may be stored. */
  async register(text: string): Promise<EndpointAnswer> {
    const metadata = recordIn(text);
    const { redirect_uris: redirectUris } = metadata;
    if (Array.isArray(redirectUris) && redirectUris.length > redirectUrisMax) {
      return failure('invalid_redirect_uri', `At most ${String(redirectUrisMax)} are taken.`);
    }
    if (!(await this.#options.grants.hasRoomForClient(clientsMax))) {
      throw new ServiceError('OVERLOADED', 'There are too many clients.', { retryAfterS: 3_600 });
    }
    const implied = impliedApplicationType(redirectUris);
    const body = JSON.stringify({ application_type: implied, ...metadata });
    const headers = { 'content-type': 'application/json' };
    return answerOf(await this.#ask({ method: 'POST', path: '/oauth2/register', headers, body }));
  }

  async token(sent: ClientForm): Promise<EndpointAnswer> {
    const repeated = repeatedName(sent.form);
    if (repeated !== undefined) return failure('invalid_request', `${repeated} comes twice.`);
    const form = this.#plain(sent.form);
    const type = form.get('grant_type');
    if (type === 'authorization_code') return this.#redeemCode({ ...sent, form });
    if (type === 'refresh_token') return this.#refresh({ ...sent, form });
    if (type === null || type === '') return failure('invalid_request', 'grant_type is missing.');
    return failure('unsupported_grant_type', 'Only codes and refresh tokens are taken.');
  }

  /** RFC 7009. */
  async revoke(sent: ClientForm): Promise<EndpointAnswer> {
    const token = sent.form.get('token') ?? '';
    const before = this.#find(token);
    // The token was revoked before; the library would now end every grant of this client.
    if (before && isRevoked(before)) return { status: 200, headers: {}, body: null };
    const answer = answerOf(await this.#post('/oauth2/revoke', sent));
    const after = this.#find(token);
    const isDone = answer.status === 200 && before !== undefined && (!after || isRevoked(after));
    if (isDone) await this.#endGrantOf(before);
    return answer.status === 200 ? { ...answer, body: null } : answer;
  }

  /** RFC 7662, for the client's own tokens. */
  async introspect(sent: ClientForm): Promise<EndpointAnswer> {
    const says = ['client_id', 'client_assertion'].some((name) => sent.form.has(name));
    if (!says && sent.authorization === '') {
      const body = { error: 'invalid_client', error_description: 'Say which client you are.' };
      return { status: 401, headers: {}, body };
    }
    const answer = answerOf(await this.#post('/oauth2/introspect', sent));
    if (answer.body?.['active'] !== true) return answer;
    const row = this.#find(sent.form.get('token') ?? '');
    if (!row || isRevoked(row) || !this.#options.grants.find(row.fields['referenceId'])) {
      return { ...answer, body: { active: false } };
    }
    return answer;
  }

  /** OpenID Connect Core, 5.3. */
  async userinfo(authorization: string): Promise<EndpointAnswer> {
    const [, token = ''] = /^bearer +(\S+)$/i.exec(authorization) ?? [];
    if (token === '') return refusedToken('', 'An access token is needed.');
    const row = this.#options.grants.row('oauthAccessToken', tokenHash(token));
    if (!row || !this.#options.grants.find(row.fields['referenceId'])) {
      return refusedToken('invalid_token', 'The access token is not valid.');
    }
    const headers = { authorization: `Bearer ${token}` };
    const answer = answerOf(await this.#ask({ method: 'GET', path: '/oauth2/userinfo', headers }));
    if (answer.status === 200) return answer;
    if (answer.body?.['error'] === 'invalid_scope') {
      return refusedToken('insufficient_scope', 'This needs the scope openid.', 403);
    }
    return refusedToken('invalid_token', 'The access token is not valid.');
  }

  async #redeemCode(sent: ClientForm): Promise<EndpointAnswer> {
    const codeId = tokenHash(sent.form.get('code') ?? '');
    const models: TokenModel[] = ['oauthAccessToken', 'oauthRefreshToken'];
    const { grants } = this.#options;
    const spent = models.flatMap((model) => grants.rowsOf(model, 'authorizationCodeId', codeId));
    for (const row of spent) await this.#endGrantOf(row);
    return this.#issued(await this.#post('/oauth2/token', sent));
  }

  async #refresh(sent: ClientForm): Promise<EndpointAnswer> {
    const { form } = sent;
    const token = form.get('refresh_token') ?? '';
    const row = this.#findRefresh(token);
    const own = row?.fields['clientId'] === clientIdOf(sent);
    if (row && own && isRevoked(row)) {
      await this.#endGrantOf(row);
      return failure('invalid_grant', 'This refresh token was used before.');
    }
    // A token stands for the whole grant, so a part of it cannot be had: `scope` in the answer says
    // what it is.
    const had: unknown = row?.fields['scopes'];
    const isPart = scopesIn(form.get('scope')).every(
      (scope) => Array.isArray(had) && had.includes(scope),
    );
    if (isPart) form.delete('scope');
    const answer = await this.#issued(await this.#post('/oauth2/token', { ...sent, form }));
    if (own && answer.status !== 200) {
      const now = this.#findRefresh(token);
      // Another request used the token meanwhile.
      if (now && isRevoked(now)) await this.#endGrantOf(now);
    }
    return answer;
  }

  /** Extends the grant for as long as its tokens live; without the grant they are worth nothing. */
  async #issued(from: LibraryAnswer): Promise<EndpointAnswer> {
    const answer = tokenErrors(answerOf(from));
    const access = answer.body?.['access_token'];
    if (answer.status !== 200 || typeof access !== 'string') return answer;
    const { grants, clock } = this.#options;
    const grantId = grants.row('oauthAccessToken', tokenHash(access))?.fields['referenceId'];
    const isLong = typeof answer.body?.['refresh_token'] === 'string';
    const untilMs = clock.now() + (isLong ? refreshTokenMs : accessTokenMs);
    const lives = typeof grantId === 'string' && (await grants.extend(grantId, untilMs));
    return lives ? answer : failure('invalid_grant', 'What was granted has ended.');
  }

  async #endGrantOf(row: Readonly<AuthRecord>): Promise<void> {
    const { referenceId } = row.fields;
    if (typeof referenceId === 'string') await this.#options.grants.end(referenceId);
  }

  #find(token: string): Readonly<AuthRecord> | undefined {
    return (
      this.#options.grants.row('oauthAccessToken', tokenHash(token)) ?? this.#findRefresh(token)
    );
  }

  #findRefresh(token: string): Readonly<AuthRecord> | undefined {
    if (!token.startsWith(refreshPrefix)) return undefined;
    const hash = tokenHash(token.slice(refreshPrefix.length));
    return this.#options.grants.row('oauthRefreshToken', hash);
  }

  #plain(sent: URLSearchParams): URLSearchParams {
    const publicUrl = this.#options.publicUrl();
    const form = new URLSearchParams(sent);
    const resources = form.getAll('resource');
    form.delete('resource');
    for (const resource of resources) form.append('resource', plainResource(resource, publicUrl));
    return form;
  }

  #post(path: string, { form, authorization }: ClientForm): Promise<LibraryAnswer> {
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      ...(authorization !== '' && { authorization }),
    };
    return this.#ask({ method: 'POST', path, headers, body: form.toString() });
  }

  async #ask(request: LibraryRequest): Promise<LibraryAnswer> {
    return (await this.#options.library()).ask(request);
  }
}

function answerOf({ status, headers, text }: LibraryAnswer): EndpointAnswer {
  const challenge = headers.get('www-authenticate');
  const body = recordIn(text);
  return {
    status: body['error'] === 'invalid_client' ? 401 : status,
    headers: challenge === null ? {} : { 'WWW-Authenticate': challenge },
    body,
  };
}

/** The library's answers in the form of RFC 6749, 5.2, and RFC 7636, 4.6. */
function tokenErrors(answer: EndpointAnswer): EndpointAnswer {
  const { error, error_description: description = '' } = answer.body ?? {};
  if (answer.status < 400 || error === 'invalid_client') return answer;
  const detail = typeof description === 'string' ? description : '';
  if (error === 'invalid_user' || /verification failed|session no longer|user not/.test(detail)) {
    return failure('invalid_grant', detail);
  }
  return answer.status === 401 ? { ...answer, status: 400 } : answer;
}

function failure(error: string, description: string): EndpointAnswer {
  return { status: 400, headers: {}, body: { error, error_description: description } };
}

/** RFC 6750, 3. */
function refusedToken(error: string, description: string, status = 401): EndpointAnswer {
  const challenge = error === '' ? 'Bearer' : `Bearer error="${error}"`;
  return {
    status,
    headers: { 'WWW-Authenticate': challenge },
    body: { error: error === '' ? 'invalid_request' : error, error_description: description },
  };
}

function isRevoked(row: Readonly<AuthRecord>): boolean {
  return (row.fields['revoked'] ?? null) !== null;
}

function clientIdOf({ form, authorization }: ClientForm): string | null {
  const [, basic] = /^basic +(\S+)$/i.exec(authorization) ?? [];
  if (basic === undefined) return form.get('client_id');
  const [name = ''] = Buffer.from(basic, 'base64').toString('utf8').split(':');
  return new URLSearchParams(`name=${name}`).get('name');
}
