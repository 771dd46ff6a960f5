/**
 * Owns the page by which people connect MCP clients, and its switch.
 *
 * 1. The page is for people. A visitor who is not signed in is led to the sign-in page and back; a token is
 *    refused.
 * 2. The switch does what `setMcpSettings` does: it needs `manage_team`, the team's actor makes the change,
 *    and the change is recorded by that name. Another site's page cannot send it.
 * 3. A team that is named but not the caller's is FORBIDDEN; nothing of it is shown.
 */
import { randomBytes } from 'node:crypto';
import { teamActor } from '../../actors/team/protocol.ts';
import type { Causes } from '../../actors/runtime/causes.ts';
import type { Actors } from '../../actors/runtime/actor.ts';
import { actingTeam, authorize, can, teamIdsOf } from '../../auth/rights/authorize.ts';
import { ServiceError } from '../../lib/errors.ts';
import { toolGroups } from '../../protocol/mcp-address.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import type { Exchange, Route } from '../transport.ts';
import { type Callers, type Person, personAt } from '../credentials.ts';
import { Assets, ownAsset } from '../pages/assets.ts';
import {
  connectPage,
  connectPath,
  connectStyle,
  type ConnectTeam,
  type Standing,
} from '../pages/connect-page.ts';
import { asAsked, loginFor, readForm } from '../pages/form.ts';
import { redirect, sendPage } from '../pages/page.ts';

export interface ConnectRoutesOptions {
  reader: Reader;
  actors: Pick<Actors, 'ask'>;
  /** Records the requested change, as the activity shows it. */
  causes: Pick<Causes, 'amend'>;
  callers: Pick<Callers, 'either' | 'cookiePerson' | 'refuseCrossSite'>;
  /** Origin without trailing slash; called for each page, since it may change while we run. */
  publicUrl: () => string;
}

export function connectRoutes(options: ConnectRoutesOptions): Route[] {
  const path = connectPath;
  const assets = new Assets(
    `${path}/assets`,
    async () => [await ownAsset('connect', 'connect-client.js')],
    false,
  );
  return [
    { method: 'GET', path, handle: (exchange) => show(options, exchange, assets) },
    {
      method: 'POST',
      path,
      audit: 'setMcpSettings',
      handle: (exchange) => switchMcp(options, exchange),
    },
    assets.route,
  ];
}

async function show(
  options: ConnectRoutesOptions,
  exchange: Exchange,
  assets: Assets,
): Promise<void> {
  const { callers, publicUrl, reader } = options;
  const person = personAt(exchange, callers);
  if (person === null) {
    redirect(exchange, loginFor(asAsked(connectPath, exchange)));
    return;
  }
  const teams = teamsOf(reader, person);
  const team = chosenTeam(teams, exchange.query.get('team'), person.teamId);
  const standing = team && standingIn(reader, person, team);
  const tools = exchange.query.getAll('tools').flatMap((one) => one.split(','));
  const filter = {
    groups: toolGroups.filter((one) => tools.includes(one)),
    readonly: exchange.query.get('readonly') === '1',
  };
  const page = connectPage({ publicUrl: publicUrl(), teams, team, standing, filter });
  const [src = ''] = await assets.addresses('.js');
  if (exchange.aborted) return;
  const script = { src, nonce: randomBytes(16).toString('base64') };
  sendPage(exchange, 200, 'Connect', page, {}, { style: connectStyle, script });
}

async function switchMcp(options: ConnectRoutesOptions, exchange: Exchange): Promise<void> {
  const { callers, causes, actors, reader } = options;
  const form = await readForm(exchange, callers);
  const person = callers.cookiePerson(exchange, { changes: true });
  const named = exchange.query.get('team');
  const teamId = named === null ? actingTeam(person) : ownTeam(teamsOf(reader, person), named).id;
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

function teamsOf(reader: Reader, person: Person): ConnectTeam[] {
  return teamIdsOf(reader, person).flatMap((id) => reader.get(tables.teams, id) ?? []);
}

function standingIn(reader: Reader, person: Person, { id }: ConnectTeam): Standing {
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

/** The named team, else the acting one, else the one that the person joined first. */
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
