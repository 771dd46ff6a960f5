/** Owns `search`: what in a team goes by a name, or has an id. */
import * as z from 'zod';
import type { Tool, ToolArguments, ToolCall, ToolOutcome } from '../contract.ts';
import { toolInput } from '../input.ts';

const named = `query ($text: String) {
  apps(search: $text, first: 20) { nodes { id name slug status } totalCount }
  folders { id name } }`;
const byApp = 'query ($id: ID) { app(id: $id) { id name slug status } }';
const byDeployment = 'query ($id: ID!) { deployment(id: $id) { id appId status } }';

const foldersMax = 20;

export function search(): Tool {
  return {
    name: 'search',
    description: 'Find apps and folders by part of a name, or an app or deployment by id.',
    group: 'search',
    effect: 'reads',
    idempotent: true,
    needs: null,
    input: toolInput({ text: z.string().trim().min(1).max(100) }),
    output: {
      type: 'object',
      properties: {
        results: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              kind: { type: 'string' },
              id: { type: 'string' },
              name: { type: 'string' },
              slug: { type: 'string' },
              appId: { type: 'string' },
              status: { type: 'string' },
            },
          },
        },
        more: { type: 'integer' },
      },
      required: ['results', 'more'],
    },
    run,
  };
}

interface Found {
  apps?: { nodes: object[]; totalCount: number };
  folders?: { id: string; name: string }[];
  app?: object | null;
  deployment?: object | null;
}

function documentFor(text: string): string {
  if (text.startsWith('app_')) return byApp;
  return text.startsWith('dpl_') ? byDeployment : named;
}

async function run(call: ToolCall, args: ToolArguments): Promise<ToolOutcome> {
  const text = String(args['text']);
  const document = documentFor(text);
  const reply = await call.graphql(document, document === named ? { text } : { id: text });
  if (!reply.clean) return { kind: 'failed', sentence: reply.errors.join('\n') };
  const { apps, folders = [], app, deployment } = JSON.parse(reply.dataJson) as Found;
  const wanted = text.toLowerCase();
  const matching = folders.filter(({ name }) => name.toLowerCase().includes(wanted));
  const results = [
    ...(apps?.nodes ?? []).map((one) => ({ kind: 'app', ...one })),
    ...matching.slice(0, foldersMax).map((one) => ({ kind: 'folder', ...one })),
    ...(app ? [{ kind: 'app', ...app }] : []),
    ...(deployment ? [{ kind: 'deployment', ...deployment }] : []),
  ];
  const shownApps = apps?.nodes.length ?? 0;
  const more = (apps?.totalCount ?? 0) - shownApps + Math.max(0, matching.length - foldersMax);
  await call.openSecrets();
  return { kind: 'structured', json: call.redact(JSON.stringify({ results, more })) };
}
