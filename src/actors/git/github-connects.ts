/**
 * Owns how a team is connected to GitHub: somebody posts a manifest there, GitHub makes an App by it and sends
 * them back with a code, and the code is exchanged for what the App has.
 */
import { GithubApi } from '../../git/github/github-api.ts';
import { isOrg, manifestOf, manifestTarget } from '../../git/github/manifest.ts';
import { PendingConnects } from '../../git/github/pending-connects.ts';
import { providerApi, type ProviderFetch } from '../../git/providers/provider-api.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import type { Actors } from '../runtime/actor.ts';
import { teamActor } from '../team/protocol.ts';

export interface GithubConnectsParts {
  reader: Pick<Reader, 'get'>;
  actors: Pick<Actors, 'ask'>;
  clock: Clock;
  fetch: ProviderFetch;
  /** Where GitHub is. */
  githubUrl: string;
  publicUrl: () => string;
}

export interface GithubConnectStart {
  /** Where the manifest is posted to. */
  actionUrl: string;
  manifest: string;
  state: string;
}

/** What GitHub sent somebody back with. */
export interface GithubReturn {
  sessionId: string;
  state: string;
  code: string;
  /** Throws where they may not connect the team any more. */
  mayConnect: (teamId: string) => void;
}

const codePattern = /^[\w.-]{1,255}$/;

export class GithubConnects {
  readonly #parts: GithubConnectsParts;
  readonly #pending: PendingConnects;
  readonly #api: GithubApi;

  constructor(parts: GithubConnectsParts) {
    this.#parts = parts;
    this.#pending = new PendingConnects(parts.clock);
    this.#api = new GithubApi(providerApi(parts.fetch), parts.githubUrl);
  }

  /** `org`: null for an App of one's own account. Throws BAD_USER_INPUT. */
  start(sessionId: string, teamId: string, org: string | null): GithubConnectStart {
    const { reader, githubUrl, publicUrl } = this.#parts;
    const account = org?.trim() || null;
    if (account !== null && !isOrg(account)) {
      throw new ServiceError('BAD_USER_INPUT', 'org is no name of an organization at GitHub.');
    }
    const state = this.#pending.begin(sessionId, teamId);
    const slug = reader.get(tables.teams, teamId)?.slug ?? '';
    const actionUrl = manifestTarget(githubUrl, account, state);
    return { actionUrl, manifest: manifestOf(publicUrl(), slug), state };
  }

  /** Makes the connection; the page at GitHub where its App is installed. */
  async finish({ sessionId, state, code, mayConnect }: GithubReturn): Promise<string> {
    const teamId = this.#pending.take(state, sessionId);
    if (teamId === null || !codePattern.test(code)) {
      throw new ServiceError('BAD_USER_INPUT', 'This request is not known any more. Begin again.');
    }
    mayConnect(teamId);
    const app = await this.#api.convert(code);
    const { actors, githubUrl: baseUrl } = this.#parts;
    await actors.ask(teamActor.at(teamId), {
      type: 'git-connect',
      connectionId: newId('gc'),
      connection: { baseUrl, app },
    });
    return `${app.htmlUrl}/installations/new`;
  }
}
