/**
 * Owns what GitHub is asked about an App and its installations:
 * https://docs.github.com/en/rest/apps/apps, https://docs.github.com/en/rest/commits/statuses.
 * Everything rejects with GIT_PROVIDER_FAILED.
 */
import { createPrivateKey } from 'node:crypto';
import { at, textAt } from '../providers/payload.ts';
import type { CommitStatus, PostingApi } from '../providers/provider.ts';
import { providerFailed } from '../providers/provider-api.ts';
import { apiRootOf, escapedName, githubHeaders } from '../providers/github-addresses.ts';

/** What GitHub tells of a new App. */
export interface NewApp {
  appId: number;
  /** The page about it. */
  htmlUrl: string;
  /** The account that owns it. */
  owner: string;
  /** PEM. */
  privateKey: string;
  webhookSecret: string;
}

export interface Installation {
  id: number;
  /** The account that it is installed on. */
  account: string;
}

export interface InstallationToken {
  token: string;
  expiresAtMs: number;
}

type Api = Pick<PostingApi, 'json' | 'post'>;

const installationsMax = 100;

export class GithubApi {
  readonly #api: Api;
  readonly #baseUrl: string;
  readonly #root: string;

  constructor(api: Api, baseUrl: string) {
    this.#api = api;
    this.#baseUrl = baseUrl;
    this.#root = apiRootOf(baseUrl);
  }

  /** The App that was made by a manifest. A code works once. */
  async convert(code: string): Promise<NewApp> {
    const url = `${this.#root}/app-manifests/${encodeURIComponent(code)}/conversions`;
    return newApp(await this.#api.post(url, githubHeaders(null), {}), this.#baseUrl);
  }

  /** Those of the App that `jwt` speaks for, at most 100. */
  async installations(jwt: string): Promise<Installation[]> {
    const url = `${this.#root}/app/installations?per_page=${String(installationsMax)}`;
    const answer = await this.#api.json(url, githubHeaders(jwt));
    return (Array.isArray(answer) ? answer : []).map(installationOf);
  }

  async installation(jwt: string, id: number): Promise<Installation> {
    const url = `${this.#root}/app/installations/${String(id)}`;
    const refusals = { 404: 'The installation is not of this App.' };
    return installationOf(await this.#api.json(url, githubHeaders(jwt), refusals));
  }

  /** The one that reaches a repository. */
  async installationOn(jwt: string, fullName: string): Promise<Installation> {
    const url = `${this.#root}/repos/${escapedName(fullName)}/installation`;
    const refusals = { 404: `The GitHub App is not installed on ${fullName}.` };
    return installationOf(await this.#api.json(url, githubHeaders(jwt), refusals));
  }

  async token(jwt: string, installationId: number): Promise<InstallationToken> {
    const url = `${this.#root}/app/installations/${String(installationId)}/access_tokens`;
    const answer = await this.#api.post(url, githubHeaders(jwt), {});
    const token = at(answer, 'token');
    const expiresAtMs = Date.parse(textAt(answer, 'expires_at') ?? '');
    if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token) || Number.isNaN(expiresAtMs)) {
      throw providerFailed('Its answer holds no token.');
    }
    return { token, expiresAtMs };
  }

  async report(
    token: string,
    fullName: string,
    sha: string,
    { url: target_url, ...status }: CommitStatus,
  ): Promise<void> {
    const url = `${this.#root}/repos/${escapedName(fullName)}/statuses/${sha}`;
    await this.#api.post(url, githubHeaders(token), {
      ...status,
      ...(target_url !== null && { target_url }),
    });
  }
}

function newApp(answer: unknown, baseUrl: string): NewApp {
  const appId = at(answer, 'id');
  const owner = textAt(answer, 'owner', 'login');
  const htmlUrl = textAt(answer, 'html_url') ?? '';
  const privateKey = at(answer, 'pem');
  const webhookSecret = textAt(answer, 'webhook_secret');
  const isWhole = isId(appId) && owner !== null && webhookSecret !== null;
  // People are led there.
  if (!isWhole || !isRsaKey(privateKey) || !htmlUrl.startsWith(`${baseUrl}/`)) {
    throw providerFailed('Its answer holds no App.');
  }
  return { appId, owner, htmlUrl, privateKey, webhookSecret };
}

function installationOf(answer: unknown): Installation {
  const id = at(answer, 'id');
  // Of a GitHub Enterprise as a whole, the account has a slug.
  const account = textAt(answer, 'account', 'login') ?? textAt(answer, 'account', 'slug');
  if (!isId(id)) throw providerFailed('Its answer holds no installation.');
  return { id, account: account ?? '' };
}

function isId(given: unknown): given is number {
  return typeof given === 'number' && Number.isSafeInteger(given) && given > 0;
}

function isRsaKey(given: unknown): given is string {
  if (typeof given !== 'string') return false;
  try {
    return createPrivateKey(given).asymmetricKeyType === 'rsa';
  } catch {
    // Whatever it is, nothing can be signed with it.
    return false;
  }
}
