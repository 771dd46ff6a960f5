/**
 * Owns detection: how a source is built and started, from its files and its settings.
 *
 * The first that fits decides: configured commands, Procfile, package.json, requirements.txt or
 * pyproject.toml, go.mod, static files. A setting replaces one step of the plan: `buildCommand` the
 * build, `startCommand` the start, `outputDir` the static folder.
 */
import type { BuildConfig, ReleasePlan } from '../../../store/records/records.ts';
import type { BuildPlan, BuildTools } from './plan.ts';
import { detectGo, detectNode, detectPython, installSteps, pythonMains } from './languages.ts';
import { WorkFailed } from '../../workload/work-failed.ts';
import type { ReleaseSource } from '../../../places/place.ts';

/** The folders where a site may be. A folder that a build makes goes before the source's own index.html. */
export const siteFolders = ['dist', 'build', 'out', 'public', '.'] as const;
export const noSite =
  'It has no start command, and no index.html was found in dist, build, out, public or the ' +
  'top folder. Set a start command, or outputDir for static files.';

export const noFolder = (outputDir: string): string =>
  `The build made no folder ${outputDir} (outputDir).`;

const lookedFor =
  'a build or start command in the settings, Procfile, package.json, requirements.txt, ' +
  'pyproject.toml, go.mod, index.html';

/** `tools` are those of the machine; null: the source is built in images, which have all tools. */
export async function detectBuild(
  source: ReleaseSource,
  config: BuildConfig,
  tools: BuildTools | null,
): Promise<BuildPlan> {
  const notes = tools === null ? [] : await checkHost(source, config, tools);
  const detected = await detectFiles(source, tools);
  const plan = await applySettings(source, config, detected);
  if (plan === null) {
    const dockerfile = notes[0]?.includes('Dockerfile') === true ? ` ${notes[0]}` : '';
    const first = tools === null ? 'Dockerfile, ' : '';
    throw new WorkFailed(
      `Nothing here says how to build or start it. Looked for: ${first}${lookedFor}.${dockerfile}`,
    );
  }
  return { ...plan, notes: [...notes, ...plan.notes] };
}

/** Checks a machine that runs programs of its own for settings that only containers can use. */
async function checkHost(
  source: ReleaseSource,
  config: BuildConfig,
  tools: BuildTools,
): Promise<string[]> {
  checkNodeVersion(config.nodeVersion, tools.nodeVersion);
  if (config.dockerfile !== null) {
    throw new WorkFailed('Building a Dockerfile needs the docker runtime; this server has none.');
  }
  const notes: string[] = [];
  if (await source.hasFile('Dockerfile')) {
    notes.push('There is a Dockerfile; this server has no docker runtime and does not use it.');
  }
  if (config.port !== null) {
    notes.push('The configured port is for containers; here the app listens on PORT.');
  }
  return notes;
}

/** Finds the folder of static files after the build; refuses when there is none. */
export async function settlePlan(
  source: ReleaseSource,
  plan: ReleasePlan,
  config: BuildConfig,
): Promise<ReleasePlan> {
  if (plan.startCommand !== null) return plan;
  checkStarts(plan);
  const { outputDir } = config;
  if (outputDir !== null) {
    if (await source.hasFolder(...split(outputDir))) return { ...plan, staticDir: outputDir };
    throw new WorkFailed(noFolder(outputDir));
  }
  for (const folder of siteFolders) {
    if (await source.hasFile(...split(folder), 'index.html')) return { ...plan, staticDir: folder };
  }
  throw new WorkFailed(noSite);
}

/** Refuses a program without a start command. */
export function checkStarts(plan: ReleasePlan): void {
  if (plan.startCommand !== null || plan.kind !== 'python') return;
  throw new WorkFailed(
    `A Python app needs a start command, a Procfile, or one of ${pythonMains.join(', ')}.`,
  );
}

async function detectFiles(
  source: ReleaseSource,
  tools: BuildTools | null,
): Promise<BuildPlan | null> {
  const language =
    (await detectNode(source)) ??
    (await detectPython(source, tools)) ??
    (await detectGo(source, tools));
  const procfile = await source.text('Procfile');
  if (procfile !== null) {
    const startCommand = webOf(procfile);
    const release = { kind: 'procfile', startCommand, staticDir: null } as const;
    return { ...(language ?? staticFiles('')), found: 'Procfile', release };
  }
  if (language !== null) return language;
  const isStatic =
    (await source.hasFile('index.html')) || (await source.hasFile('public', 'index.html'));
  return isStatic ? staticFiles('index.html') : null;
}

async function applySettings(
  source: ReleaseSource,
  config: BuildConfig,
  detected: BuildPlan | null,
): Promise<BuildPlan | null> {
  const { buildCommand, startCommand, outputDir } = config;
  const base = detected ?? (outputDir === null ? null : staticFiles('outputDir'));
  if (buildCommand === null && startCommand === null && outputDir === null) return detected;
  let plan = base ?? staticFiles('the configured commands');
  if (buildCommand !== null) {
    const install = installs(buildCommand) ? [] : await installSteps(source);
    const steps = [...install, buildCommand];
    plan = { ...plan, found: 'the configured commands', steps, installs: install.length };
  }
  if (startCommand !== null) {
    return { ...plan, release: { kind: 'command', startCommand, staticDir: null } };
  }
  if (outputDir !== null) {
    return { ...plan, release: { kind: 'static', startCommand: null, staticDir: null } };
  }
  return plan;
}

function staticFiles(found: string): BuildPlan {
  return {
    found,
    language: null,
    steps: [],
    installs: 0,
    notes: [],
    release: { kind: 'static', startCommand: null, staticDir: null },
  };
}

function installs(command: string): boolean {
  return /\b(npm|pnpm|yarn|bun)\s+(ci|i|install|add)\b|(^|[;&|]\s*)(yarn|pnpm)\s*($|[;&|])/.test(
    command,
  );
}

function webOf(procfile: string): string {
  for (const line of procfile.split(/\r?\n/)) {
    const web = /^\s*web\s*:\s*(\S.*)$/.exec(line);
    if (web?.[1] !== undefined) return web[1].trim();
  }
  throw new WorkFailed('The Procfile has no line "web: <command>".');
}

function checkNodeVersion(wanted: string | null, present: string): void {
  if (wanted === null) return;
  const major = /^\D*(\d+)/.exec(wanted)?.[1];
  if (major === undefined || major === present.split('.')[0]) return;
  throw new WorkFailed(`nodeVersion asks for Node ${wanted}; this server has Node ${present}.`);
}

function split(path: string): string[] {
  return path === '.' ? [] : path.split('/');
}
