/**
 * Owns the Dockerfile of a source that brings none. It is written from what detection found, so that a
 * second build is cheap and the image is small.
 *
 * 1. The step that installs packages comes before the source, so that its layer stays while the
 *    packages do.
 * 2. When a build ends in static files, its compilers and packages stay in a stage of their own.
 * 3. Everything runs as a user without rights, the build too. That user owns only `/app`, `/data` and
 *    its home.
 * 4. Users' command lines are written as JSON, so that neither this file nor the builder interprets
 *    them.
 */
import type { BuildConfig } from '../../../store/records/records.ts';
import { checkStarts, noFolder, noSite, settlePlan, siteFolders } from './detect.ts';
import { containerDataDir, quote, shellCommand } from './environment.ts';
import { installNeedsSource } from './languages.ts';
import type { BaseImages, BuildPlan } from './plan.ts';
import type { ReleaseSource } from '../../../places/place.ts';

export interface GenerateOptions {
  source: ReleaseSource;
  plan: BuildPlan;
  config: BuildConfig;
  images: BaseImages;
  /** The build arguments that are declared before the packages are installed, and before the build. */
  installArgs: readonly string[];
  buildArgs: readonly string[];
}

/** The port of an app that configures none. Apps of a team reach each other at `<slug>:8080`. */
export const generatedPort = 8080;
/** Our own folder in the build context. */
export const ownFolder = '.gangway';
export const staticServerName = 'static-server.mjs';
/** A step that we wrote prints this before the reason why it failed. */
export const failureMark = 'Gangway: ';

/** Matches a start command that calls the Go toolchain itself. */
const needsGo = /(^|[;&|]\s*)go\s/;
const user = '1000:1000';
const home = '/home/app';
const root = '/app';
const site = `${home}/site`;

/** Returns the text. Rejects with WorkFailed when there is nothing to start or to serve. */
export async function generateDockerfile(options: GenerateOptions): Promise<string> {
  const { plan, config, images } = options;
  checkStarts(plan.release);
  const { startCommand } = plan.release;
  const image = buildImageOf(plan, images);
  const lines: string[] = [];
  if (startCommand === null) {
    lines.push(...(await siteLines(options, image, images.node)));
  } else if (plan.language === 'go' && !needsGo.test(startCommand)) {
    lines.push(...stage(image, 'build'), ...(await buildLines(options)), ...stage(images.base));
    lines.push(copyFrom('build', root, root), command(shellCommand(startCommand)));
  } else {
    lines.push(...stage(image), ...(await buildLines(options)));
    lines.push(command(shellCommand(startCommand)));
  }
  lines.push(`EXPOSE ${String(config.port ?? generatedPort)}`);
  return `${lines.join('\n')}\n`;
}

export function buildImageOf(plan: BuildPlan, images: BaseImages): string {
  return images[plan.language ?? 'node'];
}

/** The image of the Node version that an app asks for, where the default image is configured. */
export function nodeImageOf(
  configured: string,
  isDefault: boolean,
  version: string | null,
): { image: string; note: string | null } {
  const wanted = /\d+(\.\d+){0,2}/.exec(version ?? '')?.[0];
  if (wanted === undefined) return { image: configured, note: null };
  if (isDefault) return { image: configured.replace(/:[^-]+/, `:${wanted}`), note: null };
  return {
    image: configured,
    note: `nodeVersion (${wanted}) chooses nothing here: this server builds with ${configured}.`,
  };
}

function stage(image: string, name?: string): string[] {
  const as = name === undefined ? '' : ` AS ${name}`;
  const folders = `${root} ${containerDataDir} ${home}`;
  return [
    `FROM ${image}${as}`,
    'USER 0:0',
    `ENV HOME=${home} LANG=C.UTF-8 NODE_ENV=production PYTHONUNBUFFERED=1 HOST=0.0.0.0`,
    `ENV npm_config_update_notifier=false PATH=${root}/node_modules/.bin:${root}/.venv/bin:$PATH`,
    // A new volume takes over the owner of the folder.
    `RUN mkdir -p ${folders} && chown ${user} ${folders}`,
    `WORKDIR ${root}`,
    `USER ${user}`,
  ];
}

/** The lines for packages, source and build, in the order that keeps layers. */
async function buildLines(options: GenerateOptions): Promise<string[]> {
  const { plan, source, installArgs, buildArgs } = options;
  const { files, steps } = await packagesOf(plan, source);
  const install = [...installArgs.map(argument), ...steps.map(run)];
  const build = [...buildArgs.map(argument), ...plan.steps.slice(plan.installs).map(run)];
  if (steps.length === 0) return [copy(['.']), ...build];
  if (files === null) return [copy(['.']), ...install, ...build];
  return [copy(files), ...install, copy(['.']), ...build];
}

/** The steps that install packages, and the files they read; `files` is null when they may read any. */
async function packagesOf(
  plan: BuildPlan,
  source: ReleaseSource,
): Promise<{ files: string[] | null; steps: string[] }> {
  const present = async (...names: string[]): Promise<string[]> => {
    const found: string[] = [];
    for (const name of names) if (await source.hasFile(name)) found.push(name);
    return found;
  };
  const installs = plan.steps.slice(0, plan.installs);
  switch (plan.language) {
    case 'node': {
      const steps = installs.map((step) => `${step}\nrm -rf "$HOME/.npm"`);
      if (steps.length === 0 || (await installNeedsSource(source))) return { files: null, steps };
      const locks = ['package-lock.json', 'npm-shrinkwrap.json', '.npmrc'];
      return { files: await present('package.json', ...locks), steps };
    }
    case 'python': {
      const requirements = await source.text('requirements.txt');
      const venv = `python3 -m venv ${root}/.venv`;
      if (plan.installs === 0) return { files: null, steps: [venv] };
      const pip = 'pip install --no-cache-dir --disable-pip-version-check --no-input';
      const steps = [venv, `${pip} ${requirements === null ? '.' : '-r requirements.txt'}`];
      // An option or a path in the text leads to other files. Each line is tested alone, because one
      // expression over many blank lines takes quadratic time.
      const leads = (line: string): boolean => /^\s*(-|\.|\/|file:)|@\s*file:/.test(line);
      const alone = requirements !== null && !requirements.split('\n').some(leads);
      return { files: alone ? ['requirements.txt'] : null, steps };
    }
    case 'go': {
      if (await source.hasFile('vendor', 'modules.txt')) return { files: null, steps: [] };
      return { files: await present('go.mod', 'go.sum'), steps: ['go mod download'] };
    }
    case null:
      return { files: null, steps: [] };
  }
}

/** A site is built where its tools are, and then served by our own server from an image without them. */
async function siteLines(
  options: GenerateOptions,
  image: string,
  serverImage: string,
): Promise<string[]> {
  const { plan, source, config } = options;
  const server = `${home}/${staticServerName}`;
  const serve = [
    `COPY --chown=${user} ${ownFolder}/${staticServerName} ${server}`,
    command(['node', server, root]),
  ];
  if (plan.steps.length === 0) {
    const { staticDir } = await settlePlan(source, plan.release, config);
    return [...stage(serverImage), copy([`${staticDir ?? '.'}/`]), ...serve];
  }
  return [
    ...stage(image, 'build'),
    ...(await buildLines(options)),
    run(findSite(config.outputDir)),
    ...stage(serverImage),
    copyFrom('build', site, root),
    ...serve,
  ];
}

/** A script that moves the built site to where the next stage takes it from. */
function findSite(outputDir: string | null): string {
  if (outputDir !== null) {
    const folder = quote(`./${outputDir}`);
    return (
      `[ -d ${folder} ] || { echo ${quote(`${failureMark}${noFolder(outputDir)}`)}; exit 1; }\n` +
      `cp -a ${folder} ${site}`
    );
  }
  return (
    `for folder in ${siteFolders.join(' ')}; do\n` +
    `  if [ -f "$folder/index.html" ]; then cp -a "./$folder" ${site}; exit 0; fi\n` +
    `done\necho ${quote(`${failureMark}${noSite}`)}\nexit 1`
  );
}

function argument(name: string): string {
  return `ARG ${name}`;
}

function run(script: string): string {
  return `RUN ${json(['/bin/sh', '-ec', script])}`;
}

function command(words: readonly string[]): string {
  return `CMD ${json(words)}`;
}

function copy(files: readonly string[]): string {
  return `COPY --chown=${user} ${json([...files, './'])}`;
}

function copyFrom(from: string, folder: string, to: string): string {
  return `COPY --from=${from} --chown=${user} ${json([`${folder}/`, `${to}/`])}`;
}

function json(words: readonly string[]): string {
  return JSON.stringify(words);
}
