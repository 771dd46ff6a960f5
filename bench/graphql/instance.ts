/**
 * Owns a Gangway with apps and a token, requests to it, and what peers need to serve the same: the
 * very records it answers with, in a file.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createUploadApp } from '../deploy.ts';
import type { Gangway } from '../gangway.ts';
import type { Bench } from '../harness.ts';
import { once } from '../load/http.ts';
import type { Request } from '../rounds.ts';
import { seed } from '../seed.ts';
import { heavy, padded, viewer } from './documents.ts';

export interface AppsInstance {
  gangway: Gangway;
  appIds: readonly string[];
  /** The secret of a token that sees all of them. */
  token: string;
}

/** Apps that were only created; the token may change them. */
export async function startApps(bench: Bench, count: number): Promise<AppsInstance> {
  const gangway = await bench.startGangway();
  const appIds: string[] = [];
  for (let i = 0; i < count; i++) appIds.push(await createUploadApp(gangway, `Bench app ${i}`));
  const { createToken } = await gangway.graphql<{ createToken: { secret: string } }>(
    `mutation { createToken(input: {name: "bench", capabilities: [view_logs, configure_apps]}) { secret } }`,
  );
  return { gangway, appIds, token: createToken.secret };
}

/** Apps that were uploaded and deployed once, all of a team of their own. */
export async function startDeployedApps(bench: Bench, count: number): Promise<AppsInstance> {
  const { dataDir, apps, tokens } = await seed(bench, { apps: count });
  const gangway = await bench.startGangway({ GANGWAY_DATA_DIR: dataDir });
  const [token] = tokens;
  if (token === undefined) throw new Error('there is no token');
  return { gangway, appIds: apps.map(({ id }) => id), token };
}

export interface Question {
  query: string;
  variables?: object;
}

/** A request by the token. `extensions` hold nothing that any server knows. */
export function questionRequest(
  { token }: Pick<AppsInstance, 'token'>,
  { query, variables }: Question,
  number?: number,
): Request & { body: string } {
  const extensions = number === undefined ? undefined : { request: padded(number) };
  return {
    path: '/api/graphql',
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables, extensions }),
  };
}

interface Answer<T> {
  data: T;
}

/** A file of what a peer serves: the token, who asks, and all apps with all that is asked of them. */
export async function servedFile(bench: Bench, instance: AppsInstance): Promise<string> {
  const answer = async <T>(query: string): Promise<T> => {
    const body = await once(instance.gangway, questionRequest(instance, { query }));
    return (JSON.parse(body.toString()) as Answer<T>).data;
  };
  const { me } = await answer<{ me: object }>(viewer);
  const { apps } = await answer<{ apps: { nodes: object[] } }>(heavy);
  if (apps.nodes.length !== instance.appIds.length)
    throw new Error('a page does not hold all apps');
  const file = join(bench.tempDir(), 'served.json');
  writeFileSync(file, JSON.stringify({ token: instance.token, viewer: me, apps: apps.nodes }));
  return file;
}
