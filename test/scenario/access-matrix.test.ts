/**
 * Every field and every route, called by everybody, over HTTP. What is expected follows from what the
 * callers were given and from what the table says a line asks for, by a model that knows nothing of
 * how the service decides.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { GraphQLObjectType } from 'graphql';
import { schema } from '../../src/graphql/schema/schema.ts';
import { capabilities } from '../../src/lib/capabilities.ts';
import type { Capability } from '../../src/lib/capabilities.ts';
import { routes, type RouteLine } from '../support/access-routes.ts';
import { fields } from '../support/access-table.ts';
import type { Ask, FieldLine, Need, Subject } from '../support/access-table.ts';
import { inTeam, openWorld, signInAgain } from '../support/access-world.ts';
import type { Caller, Position, World } from '../support/access-world.ts';
import { SseParser } from '../support/sse-parser.ts';

/** `ok`, or the code of the refusal; `unseen` is NOT_FOUND, or null where a look-up says so. */
type Verdict = 'ok' | 'UNAUTHENTICATED' | 'FORBIDDEN' | 'TWO_FACTOR_REQUIRED' | 'NOT_FOUND';

interface Line {
  need: Need;
  on: Subject;
}

function expected(caller: Caller, { need, on }: Line, position: Position): Verdict {
  if (need === 'anybody') return 'ok';
  if (caller.kind === 'nobody') return 'UNAUTHENTICATED';
  if (need === 'person') return caller.kind === 'person' ? 'ok' : 'FORBIDDEN';
  if (need === 'admin') return caller.isAdmin ? 'ok' : 'FORBIDDEN';
  if (on === 'none') return 'ok';
  const held = on === 'team' ? caller.team : caller[position];
  // A team that is not one's own is never acted in; a thing that is not seen does not exist.
  if (held === undefined) return on === 'team' ? 'FORBIDDEN' : 'NOT_FOUND';
  if (caller.lacksTwoFactor) return 'TWO_FACTOR_REQUIRED';
  if (need === null) return 'ok';
  if (need === 'owner') return caller.isOwner ? 'ok' : 'FORBIDDEN';
  return held.includes(need as Capability) ? 'ok' : 'FORBIDDEN';
}

const positions: readonly Position[] = ['lent', 'kept'];

describe('the access matrix', () => {
  let world: World;
  let calls = 0;
  before(async () => {
    world = await openWorld();
  });
  after(() => world.gangway.end());

  const askOf = (caller: Caller, position: Position): Ask => ({
    world,
    caller,
    place: caller.place,
    things: caller.place[position],
    unique: `call-${String(++calls)}`,
  });

  it('has a line for every field and every route, and none for anything else', () => {
    const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
    const built = roots.flatMap((type) => namesOf(type));
    assert.deepEqual([...new Set(fields.map(({ field }) => field))].sort(), built.sort());
    const named = routes.map(({ route }) => route).sort();
    const gateways = world.gangway.logged('gateway_routes');
    assert.ok(gateways.length > 0);
    for (const { routes: served } of gateways) assert.deepEqual(named, (served as string[]).sort());
  });

  it('asks for no capability that there is none of', () => {
    const special = [null, 'signedIn', 'person', 'owner', 'admin', 'anybody'];
    for (const { need } of [...fields, ...routes]) {
      assert.ok(special.includes(need) || capabilities.includes(need as Capability), String(need));
    }
  });

  for (const line of fields) {
    it(`answers everybody as it should: ${line.field} on ${line.on}`, async () => {
      const wrong: string[] = [];
      for (const caller of world.callers) {
        for (const position of line.on === 'thing' ? positions : positions.slice(0, 1)) {
          const verdict = expectedOfField(caller, line, position);
          const answer = await callField(line, askOf(caller, position), verdict === 'ok');
          const wanted = shown(line, verdict);
          if (answer !== wanted) {
            wrong.push(`${caller.name} (${position}): ${answer}, expected ${wanted}`);
          }
        }
      }
      assert.deepEqual(wrong, []);
    });
  }

  for (const line of routes) {
    it(`answers everybody as it should: ${line.route}`, async () => {
      const wrong: string[] = [];
      for (const caller of world.callers) {
        for (const position of line.on === 'thing' ? positions : positions.slice(0, 1)) {
          const wanted = expectedOfRoute(caller, line, position);
          const answer = await callRoute(line, askOf(caller, position));
          if (answer !== wanted) {
            wrong.push(`${caller.name} (${position}): ${answer}, expected ${wanted}`);
          }
        }
      }
      assert.deepEqual(wrong, []);
    });
  }
});

function namesOf(type: GraphQLObjectType | null | undefined): string[] {
  return type ? Object.keys(type.getFields()).map((name) => `${type.name}.${name}`) : [];
}

function expectedOfField(caller: Caller, line: FieldLine, position: Position): Verdict {
  if (line.anonymous !== undefined && caller.kind === 'nobody') return line.anonymous as Verdict;
  if (line.tokens !== undefined && caller.kind === 'token') return line.tokens as Verdict;
  return expected(caller, line, position);
}

/** How a verdict shows in the answer of a field. */
function shown(line: FieldLine, verdict: Verdict): string {
  if (verdict === 'ok') return line.past ?? 'ok';
  return verdict === 'NOT_FOUND' && line.nullable ? 'ok, null' : verdict;
}

async function callField(line: FieldLine, ask: Ask, isAllowed: boolean): Promise<string> {
  const { caller, world, place } = ask;
  // Of `$fresh|shared` a refused call gets the thing that is there for all.
  const fresh = line.fresh && isAllowed ? await line.fresh(ask) : null;
  const text = line
    .ask(ask)
    .replace(/\$fresh\|?([\w-]*)/, (_all, shared: string) => fresh ?? (shared || 'none_1'));
  const keyword = line.field.split('.')[0]?.toLowerCase() ?? '';
  const client =
    line.ownSession && caller.kind === 'person'
      ? await signInAgain(world.gangway, caller)
      : caller.client;
  const headers = {
    ...caller.headers,
    ...(line.on === 'team' && caller.kind !== 'nobody' && inTeam(place.teamId)),
    ...(keyword === 'subscription' && { accept: 'text/event-stream' }),
    'content-type': 'application/json',
  };
  const cookie = client.cookie === '' ? {} : { cookie: client.cookie };
  const response = await fetch(`${client.url}/api/graphql`, {
    method: 'POST',
    headers: { ...headers, ...cookie },
    body: JSON.stringify({ query: `${keyword} { ${text} }` }),
  });
  const name = line.field.split('.')[1] ?? '';
  const found =
    keyword === 'subscription' && response.ok ? await firstEvent(response) : await response.json();
  return outcomeOf(found as Answer, name);
}

interface Answer {
  data?: Record<string, unknown> | null;
  errors?: { extensions?: { code?: string } }[];
  /** Of a problem document. */
  code?: string;
}

function outcomeOf({ data, errors, code }: Answer, name: string): string {
  if (code !== undefined) return code;
  const [error] = errors ?? [];
  if (error) return error.extensions?.code ?? 'no code';
  return data?.[name] === null ? 'ok, null' : 'ok';
}

async function firstEvent(response: Response): Promise<unknown> {
  const parser = new SseParser();
  for await (const bytes of response.body ?? []) {
    for (const { event, data } of parser.push(bytes as Uint8Array)) {
      if (event === 'next') return JSON.parse(data);
    }
  }
  return {};
}

function expectedOfRoute(caller: Caller, line: RouteLine, position: Position): string {
  if (line.tokens !== undefined && caller.kind === 'token') return line.tokens;
  if (line.takes === 'cookie' && caller.kind === 'token') return '401 COOKIE_REQUIRED';
  if (line.takes === 'bearer' && caller.kind !== 'token') return '401 UNAUTHENTICATED';
  const verdict = expected(caller, line, position);
  const statuses = {
    UNAUTHENTICATED: 401,
    FORBIDDEN: 403,
    TWO_FACTOR_REQUIRED: 403,
    NOT_FOUND: 404,
  };
  return verdict === 'ok' ? 'ok' : `${String(statuses[verdict])} ${verdict}`;
}

async function callRoute(line: RouteLine, ask: Ask): Promise<string> {
  const { caller } = ask;
  const cookie = caller.client.cookie === '' ? {} : { cookie: caller.client.cookie };
  const abort = new AbortController();
  const response = await fetch(`${caller.client.url}${line.path(ask)}`, {
    method: line.route.split(' ')[0] ?? 'GET',
    headers: { ...line.headers, ...caller.headers, ...cookie },
    redirect: 'manual',
    signal: abort.signal,
    ...(line.body !== undefined && { body: line.body }),
  });
  const isProblem = response.headers.get('content-type')?.includes('problem+json') === true;
  const { code } = isProblem ? ((await response.json()) as { code: string }) : { code: '' };
  // A stream has no end of its own.
  abort.abort();
  const allowed = [line.past ?? 200].flat();
  const isPast = allowed.includes(response.status) && (line.code ?? code) === code;
  return isPast ? 'ok' : `${String(response.status)} ${code}`;
}
