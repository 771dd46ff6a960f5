/** Owns `search`: it finds what in a team has a name or an id. */
import * as z from 'zod';
import type { Tool, ToolArguments, ToolCall, ToolOutcome } from '../tool.ts';
import { toolInput } from '../input.ts';
import { listSchema } from '../output.ts';

const byName = `query ($text: String) {
  apps(search: $text, first: 20) { nodes { id name slug status } totalCount }
  folders { id name } databases { id name engine status } }`;
const byApp = 'query ($id: ID) { app(id: $id) { id name slug status } }';
const byDatabase = 'query ($id: ID!) { database(id: $id) { id name engine status } }';
const byDeployment = 'query ($id: ID!) { deployment(id: $id) { id appId status } }';

/** The most entries of one kind. */
const shownMax = 20;

export const search: Tool = {
  name: 'search',
  description:
    'Find apps, databases and folders by part of a name; apps, databases and deployments by id.',
  group: 'search',
  effect: 'reads',
  idempotent: true,
  needs: null,
  input: toolInput({ text: z.string().trim().min(1).max(100) }),
  output: listSchema(
    'results',
    ['kind', 'id', 'name', 'slug', 'engine', 'appId', 'status'],
    {},
    { more: { type: 'integer' } },
  ),
  run,
};

interface Named {
  id: string;
  name: string;
}

interface Found {
  apps?: { nodes: object[]; totalCount: number };
  folders?: Named[];
  databases?: Named[];
  app?: object | null;
  database?: object | null;
  deployment?: object | null;
}

/** A name may begin like an id. */
function documentFor(text: string): string {
  const [, kind] = /^(app|db|dpl)_[0-9a-z]{26}$/.exec(text) ?? [];
  if (kind === undefined) return byName;
  if (kind === 'app') return byApp;
  return kind === 'db' ? byDatabase : byDeployment;
}

async function run(call: ToolCall, args: ToolArguments): Promise<ToolOutcome> {
  const text = String(args['text']);
  const document = documentFor(text);
  const reply = await call.graphql(document, document === byName ? { text } : { id: text });
  if (!reply.clean) return { kind: 'failed', sentence: reply.errors.join('\n') };
  const {
    apps,
    folders = [],
    databases = [],
    app,
    database,
    deployment,
  } = JSON.parse(reply.dataJson) as Found;
  const wanted = text.toLowerCase();
  const named = (kind: string, all: readonly Named[]) =>
    all.filter(({ name }) => name.toLowerCase().includes(wanted)).map((one) => ({ kind, ...one }));
  const [inFolders, inDatabases] = [named('folder', folders), named('database', databases)];
  const results = [
    ...(apps?.nodes ?? []).map((one) => ({ kind: 'app', ...one })),
    ...inDatabases.slice(0, shownMax),
    ...inFolders.slice(0, shownMax),
    ...(app ? [{ kind: 'app', ...app }] : []),
    ...(database ? [{ kind: 'database', ...database }] : []),
    ...(deployment ? [{ kind: 'deployment', ...deployment }] : []),
  ];
  const beyond = ({ length }: readonly unknown[]): number => Math.max(0, length - shownMax);
  const shownApps = apps?.nodes.length ?? 0;
  const more = (apps?.totalCount ?? 0) - shownApps + beyond(inFolders) + beyond(inDatabases);
  await call.openSecrets();
  return { kind: 'structured', json: call.redact(JSON.stringify({ results, more })) };
}
