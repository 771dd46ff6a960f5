/** Owns putting a small app onto a Gangway under test: files, archive, upload, deployment. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onceOnly } from './gangway.ts';
import type { Bench, Gangway } from './harness.ts';

const statusMaxMs = 180_000;

/** Creates an UPLOAD app, on another server where that is named, and returns its id. */
export async function createUploadApp(
  gangway: Gangway,
  name: string,
  serverId?: string,
): Promise<string> {
  const { createApp } = await gangway.graphql<{ createApp: { id: string } }>(
    `mutation ($input: CreateAppInput!) { createApp(input: $input) { id } }`,
    { input: { name, source: 'UPLOAD', ...(serverId !== undefined && { serverId }) } },
  );
  return createApp.id;
}

/** Uploads the files as one archive, deploys them and waits until the app is live. */
export async function deployFiles(
  bench: Bench,
  gangway: Gangway,
  appId: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  await uploadFiles(bench, gangway, appId, files);
  await gangway.graphql(`mutation ($id: ID!) { redeploy(appId: $id) { id } }`, { id: appId });
  await untilActive(gangway, appId);
}

/** Uploads the files as one archive; what becomes of it is up to who deploys the app. */
export async function uploadFiles(
  bench: Bench,
  gangway: Gangway,
  appId: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  const dir = join(bench.tempDir(), 'app');
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), content);
  }
  const archive = `${dir}.tar.gz`;
  await bench.run('tar', ['-czf', archive, '-C', dir, '.']);
  const response = await fetch(`${gangway.url}/api/apps/${appId}/upload`, {
    method: 'POST',
    headers: { ...onceOnly, cookie: gangway.cookie, 'x-upload-filename': 'app.tar.gz' },
    body: readFileSync(archive),
  });
  if (response.status !== 200) throw new Error(`upload answered ${await response.text()}`);
}

/**
 * Takes the only place for builds (`GANGWAY_BUILD_CONCURRENCY=1`) with one that does not end: every other
 * deployment waits in the queue.
 */
export async function holdBuilds(bench: Bench, ours: Gangway): Promise<void> {
  const appId = await createUploadApp(ours, 'holds the builds');
  await uploadFiles(bench, ours, appId, { Procfile: 'web: sleep 3600\n' });
  await ours.graphql(
    `mutation ($id: ID!) { updateApp(id: $id, build: {buildCommand: "sleep 3600"}) { id } }`,
    { id: appId },
  );
  await ours.graphql(`mutation ($id: ID!) { redeploy(appId: $id) { id } }`, { id: appId });
  await untilStatus(ours, appId, 'building');
}

export async function untilStatus(ours: Gangway, appId: string, wanted: string): Promise<void> {
  const untilMs = performance.now() + statusMaxMs;
  for (;;) {
    const { app } = await ours.graphql<{ app: { status: string } }>(
      `query ($id: ID!) { app(id: $id) { status } }`,
      { id: appId },
    );
    if (app.status === wanted) return;
    if (performance.now() > untilMs) throw new Error(`the app is ${app.status}, not ${wanted}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Waits until it is live; throws where its deployment failed. */
export async function untilActive(gangway: Gangway, appId: string): Promise<void> {
  const deadlineMs = performance.now() + statusMaxMs;
  for (;;) {
    const { app } = await gangway.graphql<{
      app: { status: string; latestDeployment: { status: string; error: string | null } };
    }>(`query ($id: ID!) { app(id: $id) { status latestDeployment { status error } } }`, {
      id: appId,
    });
    if (app.status === 'active') return;
    const { status, error } = app.latestDeployment;
    if (status === 'failed' || performance.now() > deadlineMs) {
      throw new Error(`the deployment is ${status}: ${String(error)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
