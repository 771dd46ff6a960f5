/**
 * Owns a Gangway with apps and a token, requests to it, and what peers need to serve the same: the
 * very records it answers with, in a file.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createUploadApp } from '../deploy.ts';
import type { Gangway } from '../gangway.ts';
import type { Bench } from '../harness.ts';
import type { Request } from '../rounds.ts';
import { heavy, padded, viewer } from './documents.ts';

export interface AppsInstance {
  gangway: Gangway;
  appIds: string[];
  /** The secret of a token that sees all of them. */
  token: string;
}

/** `deployed`: whether each has a deployment; it was canceled, so that nothing runs. */
export async function startApps(
  bench: Bench,
  count: number,
  { deployed = false } = {},
): Promise<AppsInstance> {
  const gangway = await bench.startGangway();
  const archive = deployed ? emptyApp(bench) : null;
  const appIds: string[] = [];
  for (let i = 0; i < count; i++) {
    const appId = await createUploadApp(gangway, `Bench app ${i}`);
    appIds.push(appId);
    if (archive !== null) await deployAndCancel(gangway, appId, archive);
  }
  const { createToken } = await gangway.graphql<{ createToken: { secret: string } }>(
    `mutation { createToken(input: {name: "bench", capabilities: [view_logs, configure_apps]}) { secret } }`,
  );
  if (deployed) await untilQuiet(gangway);
  return { gangway, appIds, token: createToken.secret };
}

function emptyApp(bench: Bench): Buffer {
  const dir = bench.tempDir();
  writeFileSync(join(dir, 'notes.txt'), 'Nothing to build.\n');
  const archive = join(dir, 'app.tar.gz');
  if (spawnSync('tar', ['-czf', archive, '-C', dir, 'notes.txt']).status !== 0) {
    throw new Error('cannot make the archive');
  }
  return readFileSync(archive);
}

async function deployAndCancel(gangway: Gangway, appId: string, archive: Buffer): Promise<void> {
  const { status } = await fetch(`${gangway.url}/api/apps/${appId}/upload`, {
    method: 'POST',
    headers: { cookie: gangway.cookie, 'x-upload-filename': 'app.tar.gz' },
    body: archive,
  });
  if (status !== 200) throw new Error(`the upload answered ${status}`);
  const { redeploy } = await gangway.graphql<{ redeploy: { id: string } }>(
    `mutation ($id: ID!) { redeploy(appId: $id) { id } }`,
    { id: appId },
  );
  await gangway.graphql(`mutation ($id: ID!) { cancelDeployment(id: $id) }`, { id: redeploy.id });
}

const quietMs = 60_000;

/** Till no deployment is under way: what was being built takes a moment to be canceled. */
async function untilQuiet(gangway: Gangway): Promise<void> {
  const deadlineMs = performance.now() + quietMs;
  for (;;) {
    const { apps } = await gangway.graphql<{
      apps: { nodes: { latestDeployment: { finishedAt: string | null } | null }[] };
    }>(`{ apps(first: 500) { nodes { latestDeployment { finishedAt } } } }`);
    const unfinished = apps.nodes.filter((node) => node.latestDeployment?.finishedAt == null);
    if (unfinished.length === 0) return;
    if (performance.now() > deadlineMs) throw new Error('the deployments do not come to an end');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
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

interface Everything {
  apps: { nodes: object[]; totalCount: number };
}

/** A file of what a peer serves: the token, who asks, and all apps with all that is asked of them. */
export async function servedFile(
  bench: Bench,
  { gangway, token, appIds }: AppsInstance,
): Promise<string> {
  const { me } = await gangway.graphql<{ me: object }>(viewer);
  const { apps } = await gangway.graphql<Everything>(heavy);
  if (apps.nodes.length !== appIds.length) throw new Error('a page does not hold all apps');
  const file = join(bench.tempDir(), 'served.json');
  writeFileSync(file, JSON.stringify({ token, viewer: me, apps: apps.nodes }));
  return file;
}
