/**
 * Owns making a release that is an image: an image built from an upload, or a pulled one.
 *
 * 1. The first rule that fits decides: the configured Dockerfile; a Dockerfile written here, where a
 *    build or output folder is configured; the source's own `Dockerfile`; a Dockerfile written here for
 *    what detection finds.
 * 2. A build gets a variable only where its Dockerfile declares it by ARG, because build arguments stay
 *    in the history of the image. A Dockerfile written here declares no secret.
 * 3. Only the end of a build is journaled. After a crash the image is built again, which kept layers
 *    make cheap.
 */
import { open, mkdir, writeFile } from 'node:fs/promises';
import { constants } from 'node:fs';
import { join } from 'node:path';
import type { ImageBuild, ImageInfo, Images } from '../../../drivers/driver.ts';
import { ServiceError } from '../../../lib/errors.ts';
import { removeTree } from '../../../lib/untrusted-files/remove.ts';
import type { BuildConfig, ReleasePlan } from '../../../store/records/records.ts';
import { reach } from '../../workload/reach.ts';
import { openVariables } from '../settings/variables.ts';
import { BuildOutput } from './build-output.ts';
import { detectBuild } from './detect.ts';
// prettier-ignore
import { buildImageOf, generateDockerfile, nodeImageOf, ownFolder, staticServerName } from './dockerfile.ts';
import type { BuildPlan } from './plan.ts';
import { WorkFailed } from '../../workload/work-failed.ts';
import { loginsFor, loginsOf, pinned } from './registry-logins.ts';
import type { AppFiles, ReleaseSource } from '../../../places/place.ts';
import { unpack } from './unpack.ts';
import { type BuildWork, tookTooLong } from './work.ts';

interface Recipe {
  found: string;
  notes: string[];
  kind: ReleasePlan['kind'];
  dockerfile: ImageBuild['dockerfile'];
  buildArgs: Record<string, string>;
  /** Replaces the image's own command. */
  startCommand: string | null;
}

/** Returns how the finished release starts. Rejects with WorkFailed, ARCHIVE_* codes and those of Images. */
export async function buildImage(work: BuildWork, images: Images): Promise<ReleasePlan> {
  return work.app.source === 'IMAGE' ? pullImage(work, images) : buildUpload(work, images);
}

async function buildUpload(work: BuildWork, images: Images): Promise<ReleasePlan> {
  const { core, app, deployment, say } = work;
  const files = await core.files();
  await unpack(work, files, true);
  const contextDir = files.release(deployment.id);
  const source = files.source(deployment.id);
  const path = await ownDockerfile(source, app.build);
  const recipe = await (path === null
    ? generatedRecipe(work, files)
    : ownRecipe(work, source, path));
  say(`Found ${recipe.found}.`);
  for (const note of recipe.notes) say(note);
  const { dockerfile, buildArgs, startCommand, kind } = recipe;
  const spec: ImageBuild = {
    owner: app.id,
    name: deployment.id,
    contextDir,
    dockerfile,
    buildArgs,
    logins: loginsOf(core.deps, app.teamId),
  };
  const info = await withOutput(work, (line, signal) => images.build(spec, line, signal));
  // The image holds everything that the release folder held.
  await core.removeRelease(deployment.id);
  return planOf(work, info, { kind, startCommand }, null);
}

async function pullImage(work: BuildWork, images: Images): Promise<ReleasePlan> {
  const { core, app, deployment, say } = work;
  const reference = app.image;
  if (reference === null) throw new WorkFailed('There is no image to run.');
  say(`Pulling ${reference}.`);
  const logins = loginsFor(core.deps, app.teamId, reference);
  const spec = { owner: app.id, name: deployment.id, reference, logins };
  const info = await withOutput(work, (line, signal) => images.pull(spec, line, signal));
  const pulled = pinned(reference, info.digest ?? null);
  if (pulled !== reference) say(`It is ${pulled}.`);
  const { startCommand } = app.build;
  return planOf(work, info, { kind: 'image', startCommand }, { pulled, label: reference });
}

function planOf(
  { app, say }: BuildWork,
  { image, ports }: ImageInfo,
  { kind, startCommand }: Pick<Recipe, 'kind' | 'startCommand'>,
  from: { pulled: string; label: string } | null,
): ReleasePlan {
  const only = ports.length === 1 ? (ports[0] ?? null) : null;
  if (ports.length > 1 && app.build.port === null) {
    say(`The image names the ports ${ports.join(', ')}: set one of them as the app's port.`);
  }
  const port = app.build.port ?? only;
  const { pulled, label } = from ?? { pulled: null, label: image };
  return { kind, startCommand, staticDir: null, image: { name: image, label, port, pulled } };
}

/** Writes the builder's output to the log before the outcome, because it explains the outcome. */
async function withOutput<T>(
  work: BuildWork,
  call: (line: (line: string) => void, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const output = new BuildOutput(work.say, work.core.deps.clock);
  try {
    return await inTime(work, (signal) => call(output.line, signal));
  } catch (error) {
    const isFailure = error instanceof ServiceError && error.code === 'IMAGE_BUILD_FAILED';
    if (!isFailure || output.reason === null) throw error;
    throw new WorkFailed(output.reason, { cause: error });
  } finally {
    output.flush();
  }
}

/** Limits the call to the time of a build, and waits for a daemon that is restarting. */
export async function inTime<T>(
  { core, signal }: BuildWork,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clock, options } = core.deps;
  const deadline = AbortSignal.timeout(options.buildTimeoutMs);
  const both = AbortSignal.any([signal, deadline]);
  try {
    return await reach(clock, both, () => call(both));
  } catch (error) {
    signal.throwIfAborted();
    if (deadline.aborted) throw new WorkFailed(tookTooLong(options.buildTimeoutMs));
    throw error;
  }
}

async function ownDockerfile(source: ReleaseSource, config: BuildConfig): Promise<string | null> {
  const { dockerfile, buildCommand, outputDir } = config;
  if (dockerfile !== null) {
    if (await source.hasFile(...dockerfile.split('/'))) return dockerfile;
    throw new WorkFailed(`There is no file ${dockerfile} (dockerfile).`);
  }
  if (buildCommand !== null || outputDir !== null) return null;
  return (await source.hasFile('Dockerfile')) ? 'Dockerfile' : null;
}

async function ownRecipe(work: BuildWork, source: ReleaseSource, path: string): Promise<Recipe> {
  const { core, app } = work;
  const { buildEnv } = await core.machine();
  const text = await source.text(...path.split('/'));
  if (text === null) throw new WorkFailed(`${path} is larger than 1 MiB.`);
  const { proxies, mirrors } = hostArgs(buildEnv);
  const variables = openVariables(core.deps, app);
  const declared = declaredArgs(text);
  const given = Object.entries({ ...mirrors, ...variables });
  const { buildCommand, startCommand } = app.build;
  return {
    found: path,
    notes:
      buildCommand === null ? [] : ['The build command is not run: the Dockerfile says all of it.'],
    kind: 'dockerfile',
    dockerfile: { path },
    buildArgs: { ...proxies, ...Object.fromEntries(given.filter(([name]) => declared.has(name))) },
    startCommand,
  };
}

async function generatedRecipe(work: BuildWork, files: AppFiles): Promise<Recipe> {
  const { core, app, deployment } = work;
  const { options } = core.deps;
  const source = files.source(deployment.id);
  const { buildEnv } = await core.machine();
  const { containers } = options;
  const plan = await detectBuild(source, app.build, null);
  const { isDefaultNode } = containers;
  const node = nodeImageOf(containers.images.node, isDefaultNode, app.build.nodeVersion);
  const images = { ...containers.images, node: node.image };
  const { proxies, mirrors } = hostArgs(buildEnv);
  const { shown, hidden } = variablesOf(work);
  const dockerfile = await generateDockerfile({
    source,
    plan,
    config: app.build,
    images,
    installArgs: Object.keys(mirrors),
    buildArgs: Object.keys(shown),
  });
  await dressContext(work, files.release(deployment.id), plan);
  const notes = [...plan.notes];
  if (node.note !== null) notes.push(node.note);
  notes.push(`Building it in ${buildImageOf(plan, images)}.`);
  if (hidden && plan.steps.length > 0) {
    notes.push('Secret variables are not there while it is built: they would stay in the image.');
  }
  return {
    found: plan.found,
    notes,
    kind: plan.release.kind,
    dockerfile: { text: dockerfile },
    buildArgs: { ...proxies, ...mirrors, ...shown },
    startCommand: null,
  };
}

/** The variables that a build may see, and whether the app has others, which are hidden from it. */
function variablesOf({ core, app }: BuildWork): {
  shown: Record<string, string>;
  hidden: boolean;
} {
  const records = core.env.filter(({ targets }) => targets.includes('production'));
  // A reference stands for a secret, whoever wrote it.
  const isPlain = (value: string | null): boolean => value?.includes('${') === false;
  const plain = new Set(records.filter(({ value }) => isPlain(value)).map(({ key }) => key));
  const all = Object.entries(openVariables(core.deps, app));
  const shown = Object.fromEntries(all.filter(([key]) => plain.has(key)));
  return { shown, hidden: plain.size < records.length };
}

/** Removes what the image makes for itself, and adds the files of ours that it needs. */
async function dressContext(work: BuildWork, folder: string, plan: BuildPlan): Promise<void> {
  const own = join(folder, ownFolder);
  const made = plan.installs === 0 ? [] : [plan.language === 'python' ? '.venv' : 'node_modules'];
  for (const name of [ownFolder, ...made]) {
    await removeTree(join(folder, name));
  }
  if (plan.release.startCommand !== null) return;
  await mkdir(own, { mode: 0o755 });
  const code = await work.core.deps.options.containers.staticServer();
  await writeFile(join(own, staticServerName), code, { mode: 0o644 });
  // The last line of a .dockerignore wins, so this one is appended.
  const append = constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW;
  const ignore = await open(join(folder, '.dockerignore'), append).catch(() => null);
  if (ignore === null) return;
  try {
    await ignore.appendFile(`\n!${ownFolder}\n`);
  } finally {
    await ignore.close();
  }
}

/** The names declared by ARG, in any stage. */
export function declaredArgs(dockerfile: string): Set<string> {
  const names = new Set<string>();
  const lines = dockerfile.split(/\r?\n/).filter((line) => !/^\s*#/.test(line));
  // The escape character joins a line to the next one; a directive may have changed that character.
  const whole = lines.join('\n').replace(/[\\`][ \t]*\n/g, ' ');
  for (const line of whole.split('\n')) {
    const rest = /^\s*ARG\s+(.*)$/i.exec(line)?.[1];
    if (rest === undefined) continue;
    for (const [, name = ''] of rest.matchAll(/([A-Za-z_]\w*)(?:=(?:"[^"]*"|'[^']*'|\S*))?/g)) {
      names.add(name);
    }
  }
  return names;
}

/** Builders know these arguments without ARG, and keep them out of the image. */
// prettier-ignore
const proxyArgs = [
  'HTTP_PROXY', 'HTTPS_PROXY', 'FTP_PROXY', 'NO_PROXY', 'ALL_PROXY',
  'http_proxy', 'https_proxy', 'ftp_proxy', 'no_proxy', 'all_proxy',
];
/** Where packages come from. The other variables that the host passes on name files that no image has. */
const mirrorArgs = ['npm_config_registry', 'PIP_INDEX_URL', 'GOPROXY', 'GOSUMDB'];

/** The part of the host's build variables that a builder in a container can use. */
export function hostArgs(passedOn: Readonly<Record<string, string>>): {
  proxies: Record<string, string>;
  mirrors: Record<string, string>;
} {
  const pick = (names: readonly string[]): Record<string, string> =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = passedOn[name];
        // An address with a password would stay in the image.
        return value === undefined || /\/\/[^/]*@/.test(value) ? [] : [[name, value]];
      }),
    );
  return { proxies: pick(proxyArgs), mirrors: pick(mirrorArgs) };
}
