/**
 * Owns `app.json`, the settings and variables of an app in its artifact. Whoever restores one may have written
 * it, so that what is read here is only a wish: whoever applies it checks everything again.
 */
import { z } from 'zod';
import { ServiceError } from '../lib/errors.ts';
import type { AppRecord, EnvTarget, GitSource } from '../store/records/records.ts';

export const appJsonMaxBytes = 1024 * 1024;

const text = z.string().nullable();
const settings = z.object({
  source: z.enum(['UPLOAD', 'GIT', 'IMAGE', 'COMPOSE']),
  build: z.object({
    buildCommand: text,
    startCommand: text,
    dockerfile: text,
    outputDir: text,
    nodeVersion: text,
    port: z.number().nullable(),
    healthPath: text,
  }),
  resources: z.object({
    memoryMb: z.number().nullable(),
    cpus: z.number().nullable(),
    pids: z.number().nullable(),
    replicas: z.number(),
  }),
  git: z
    .object({
      repository: z.string(),
      branch: z.string(),
      path: text,
      watchPaths: z.array(z.string()).optional(),
      submodules: z.literal(true).optional(),
    })
    .nullable(),
  image: text,
  compose: text,
  previewBranches: z.array(z.string()),
  autoDeploy: z.boolean(),
  /** Absent: as by default. */
  edge: z
    .object({
      maintenanceText: text,
      idleSeconds: z.number(),
      totalSeconds: z.number().nullable(),
      maxBodyMb: z.number().nullable(),
      maxConnections: z.number().nullable(),
      hsts: z.number().nullable(),
      accessLog: z.boolean(),
    })
    .optional(),
});
const variable = z.object({
  key: z.string(),
  /** Null: the artifact does not tell. */
  value: text,
  isSecret: z.boolean(),
  targets: z.array(z.enum(['production', 'preview'])),
});
const appJson = z.object({
  version: z.literal(1),
  settings,
  env: z.array(variable).max(500),
});

export type AppJson = z.infer<typeof appJson>;
export type AppJsonVariable = AppJson['env'][number];

/** Its connection is the instance's own. */
function placeOf({ repository, branch, path, watchPaths, submodules }: Readonly<GitSource>) {
  const optional = { ...(watchPaths && { watchPaths }), ...(submodules && { submodules }) };
  return { repository, branch, path, ...optional };
}

/** Whether the app is in maintenance is no setting: it may be for the restore that it is. */
function edgeOf({ edge }: Readonly<AppRecord>): Pick<AppJson['settings'], 'edge'> {
  if (edge === undefined) return {};
  const { maintenanceText, idleSeconds, totalSeconds, maxBodyMb, maxConnections } = edge;
  const limits = { idleSeconds, totalSeconds, maxBodyMb, maxConnections };
  return { edge: { maintenanceText, ...limits, hsts: edge.hsts, accessLog: edge.accessLog } };
}

/** `env`: with null for the values that the artifact is not to tell. */
export function writeAppJson(
  app: Readonly<AppRecord>,
  env: readonly { key: string; value: string | null; isSecret: boolean; targets: EnvTarget[] }[],
): Buffer {
  const { source, build, resources, git, image, compose, previewBranches, autoDeploy } = app;
  const own = { source, build, resources, git: git && placeOf(git), image, compose };
  const json: AppJson = {
    version: 1,
    settings: { ...own, previewBranches, autoDeploy, ...edgeOf(app) },
    env: env.map(({ key, value, isSecret, targets }) => ({ key, value, isSecret, targets })),
  };
  return Buffer.from(`${JSON.stringify(json, null, 2)}\n`);
}

/** Throws ARTIFACT_UNFIT. */
export function readAppJson(bytes: Uint8Array): AppJson {
  try {
    return appJson.parse(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)));
  } catch (cause) {
    const detail = 'The app.json of the backup is not one that this version knows.';
    throw new ServiceError('ARTIFACT_UNFIT', detail, { cause });
  }
}
