/**
 * Owns the page by which people connect MCP clients, and its switch.
 *
 * 1. It is for people: who is nobody is led to signing in and back, a token is refused.
 * 2. The switch is what `setMcpSettings` is: `manage_team` in the team, by its actor, recorded by that
 *    name; never from another site's page.
 * 3. A team that is named but not the caller's is FORBIDDEN; nothing is shown of it.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { teamActor } from '../../actors/team/protocol.ts';
import type { Causes } from '../../actors/runtime/causes.ts';
import type { Actors } from '../../actors/runtime/actor.ts';
import { actingTeam, authorize, can, teamIdsOf } from '../../auth/rights/authorize.ts';
import { ServiceError } from '../../lib/errors.ts';
import { toolGroups } from '../../mcp/tool.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import type { Exchange, Route } from '../transport.ts';
import type { Callers, Person } from '../credentials.ts';
import { connectPage, connectPath, connectStyle } from '../pages/connect-page.ts';
import type { ConnectTeam, Standing } from '../pages/connect-page.ts';
import { readForm } from '../pages/form.ts';
import { redirect, sendPage } from '../pages/page.ts';

export interface ConnectRoutesOptions {
  reader: Reader;
  actors: Pick<Actors, 'ask'>;
  /** Told what is asked for, as the activity shows it. */
  causes: Pick<Causes, 'amend'>;
  callers: Pick<Callers, 'either' | 'cookiePerson' | 'refuseCrossSite'>;
  /** Origin without trailing slash; asked for each page, since it may change while we run. */
  publicUrl: () => string;
}

interface Script {
  name: string;
  bytes: Buffer;
}

const scriptFile = new URL('../pages/connect-client.js', import.meta.url);
const scriptsPath = `${connectPath}/assets`;

export function connectRoutes(options: ConnectRoutesOptions): Route[] {
  const pages = new ConnectPages(options);
  return [
    { method: 'GET', path: connectPath, handle: (exchange) => pages.show(exchange) },
    {
      method: 'POST',
      path: connectPath,
      audit: 'setMcpSettings',
      handle: (exchange) => pages.switchMcp(exchange),
    },
    {
      method: 'GET',
      path: `${scriptsPath}/:file`,
      handle: (exchange) => pages.asset(exchange),
    },
  ];
}

class ConnectPages {
  readonly #options: ConnectRoutesOptions;
  // Read when first asked for: most starts connect nobody.
  #script: Promise<Script> | null = null;

  constructor(options: ConnectRoutesOptions) {
    this.#options = options;
  }

  async show(exchange: Exchange): Promise<void> {
    const { callers, publicUrl } = this.#options;
    const principal = callers.either(exchange, { changes: false });
    if (principal.kind === 'anonymous') {
      const query = exchange.query.toString();
      const next = query === '' ? connectPath : `${connectPath}?${query}`;
      redirect(exchange, `/login?next=${encodeURIComponent(next)}`);
      return;
    }
    if (principal.kind === 'token') {
      throw new ServiceError('FORBIDDEN', 'An API token cannot do this; sign in.');
    }
    const teams = this.#teamsOf(principal);
    const team = chosenTeam(teams, exchange.query.get('team'), principal.teamId);
    const standing = team && this.#standing(principal, team);
    const tools = exchange.query.getAll('tools').flatMap((one) => one.split(','));
    const filter = {
      groups: toolGroups.filter((one) => tools.includes(one)),
      readonly: exchange.query.get('readonly') === '1',
    };
    const page = connectPage({ publicUrl: publicUrl(), teams, team, standing, filter });
    const { name } = await this.#loadScript();
    if (exchange.aborted) return;
    const script = { src: `${scriptsPath}/${name}`, nonce: randomBytes(16).toString('base64') };
    sendPage(exchange, 200, 'Connect', page, {}, { style: connectStyle, script });
  }

  async switchMcp(exchange: Exchange): Promise<void> {
    const { callers, causes, actors, reader } = this.#options;
    const form = await readForm(exchange, (one) => {
      callers.refuseCrossSite(one);
    });
    const person = callers.cookiePerson(exchange, { changes: true });
    const named = exchange.query.get('team');
    const teamId = named === null ? actingTeam(person) : ownTeam(this.#teamsOf(person), named).id;
    authorize(reader, person, 'manage_team', { kind: 'team', teamId });
    const wish = form.get('enabled');
    if (wish !== 'true' && wish !== 'false') {
      throw new ServiceError('BAD_USER_INPUT', 'enabled is true or false.');
    }
    const enabled = wish === 'true';
    causes.amend({ input: { enabled } });
    const { slug } = await actors.ask(teamActor.at(teamId), { type: 'mcp-set', enabled });
    redirect(exchange, `${connectPath}?team=${encodeURIComponent(slug)}`);
  }

  async asset(exchange: Exchange): Promise<void> {
    const { name, bytes } = await this.#loadScript();
    if (exchange.aborted) return;
    if (exchange.param('file') !== name) {
      throw new ServiceError('NOT_FOUND', 'There is nothing at this address.');
    }
    exchange.send(
      200,
      {
        'Content-Type': 'text/javascript; charset=utf-8',
        'Cache-Control': 'public, max-age=31536000, immutable',
      },
      bytes,
    );
  }

  #teamsOf(person: Person): ConnectTeam[] {
    const { reader } = this.#options;
    return teamIdsOf(reader, person).flatMap((id) => reader.get(tables.teams, id) ?? []);
  }

  #standing(person: Person, { id }: ConnectTeam): Standing {
    const { reader } = this.#options;
    const team = { kind: 'team', teamId: id } as const;
    try {
      authorize(reader, person, null, team);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'TWO_FACTOR_REQUIRED') {
        return { kind: 'refused', sentence: error.message };
      }
      throw error;
    }
    return {
      kind: 'known',
      enabled: reader.get(tables.teams, id)?.mcpEnabled === true,
      mayManage: can(reader, person, 'manage_team', team),
      mayConnect: can(reader, person, 'manage_mcp', team),
    };
  }

  #loadScript(): Promise<Script> {
    return (this.#script ??= readScript());
  }
}

/** The one that is named, else the acting one, else the longest-standing. */
function chosenTeam(
  teams: readonly ConnectTeam[],
  named: string | null,
  acting: string | null,
): ConnectTeam | null {
  if (named !== null && named !== '') return ownTeam(teams, named);
  return teams.find(({ id }) => id === acting) ?? teams[0] ?? null;
}

function ownTeam(teams: readonly ConnectTeam[], named: string): ConnectTeam {
  const team = teams.find(({ id, slug }) => id === named || slug === named);
  if (team === undefined) throw new ServiceError('FORBIDDEN', 'You are in no such team.');
  return team;
}

async function readScript(): Promise<Script> {
  const bytes = await readFile(scriptFile);
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 12);
  return { name: `connect-${hash}.js`, bytes };
}
