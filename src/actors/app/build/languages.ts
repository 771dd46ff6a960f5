/** Owns how apps in Node, Python and Go are built and started, as their files say. */
import { quote } from './environment.ts';
import type { BuildPlan, BuildTools } from './plan.ts';
import { WorkFailed } from '../../workload/work-failed.ts';
import type { ReleaseSource } from '../../../places/place.ts';

interface Manifest {
  main: string | null;
  scripts: Record<string, string>;
  /** Whether npm has anything to install. */
  hasPackages: boolean;
  /** Whether the install runs scripts of the source or takes packages from it. */
  needsSource: boolean;
  enginesNode: string | null;
}

const npmFlags = '--include=dev --no-audit --no-fund';
const installScripts = ['preinstall', 'install', 'postinstall', 'prepare'] as const;

export async function detectNode(source: ReleaseSource): Promise<BuildPlan | null> {
  const manifest = await readManifest(source);
  if (manifest === null) return null;
  const steps = await installSteps(source);
  const installs = steps.length;
  if (manifest.scripts['build'] !== undefined) steps.push('npm run build');
  const notes = await foreignLocks(source);
  if (manifest.enginesNode !== null)
    notes.push(`package.json asks for Node ${manifest.enginesNode}.`);
  const startCommand = await startOf(source, manifest);
  return {
    found: 'package.json',
    language: 'node',
    steps,
    installs,
    notes,
    release: { kind: startCommand === null ? 'static' : 'node', startCommand, staticDir: null },
  };
}

/** The steps that install the packages of a package.json; none when it has no packages. */
export async function installSteps(source: ReleaseSource): Promise<string[]> {
  const manifest = await readManifest(source);
  if (manifest === null) return [];
  if (await isLocked(source)) return [`npm ci ${npmFlags}`];
  return manifest.hasPackages ? [`npm install ${npmFlags}`] : [];
}

/**
 * Whether the install reads more than the manifest and its lock: its own scripts, or packages in the
 * source.
 */
export async function installNeedsSource(source: ReleaseSource): Promise<boolean> {
  return (await readManifest(source))?.needsSource ?? true;
}

async function startOf(source: ReleaseSource, { scripts, main }: Manifest): Promise<string | null> {
  const start = scripts['start'];
  if (start !== undefined) {
    // Runs the script itself, without npm's process around it, unless the script needs what npm adds.
    const hooked = scripts['prestart'] !== undefined || scripts['poststart'] !== undefined;
    return hooked || start.includes('npm_') ? 'npm start' : start;
  }
  // npm does the same without a start script.
  if (await source.hasFile('server.js')) return 'node server.js';
  // A package that builds, or has its own page, is a site. Any other package with a main is a program.
  const isSite = scripts['build'] !== undefined || (await source.hasFile('index.html'));
  if (isSite) return null;
  for (const file of [main, 'index.js', 'app.js']) {
    if (file !== null && (await source.hasFile(...file.split('/')))) return `node ${quote(file)}`;
  }
  return null;
}

async function foreignLocks(source: ReleaseSource): Promise<string[]> {
  if (await isLocked(source)) return [];
  for (const lock of ['yarn.lock', 'pnpm-lock.yaml', 'bun.lock', 'bun.lockb']) {
    if (!(await source.hasFile(lock))) continue;
    return [
      `${lock} is not read: packages are installed by npm from package.json, in the newest ` +
        'versions that fit. A package-lock.json or a build command pins them.',
    ];
  }
  return [];
}

async function isLocked(source: ReleaseSource): Promise<boolean> {
  return (
    (await source.hasFile('package-lock.json')) || (await source.hasFile('npm-shrinkwrap.json'))
  );
}

async function readManifest(source: ReleaseSource): Promise<Manifest | null> {
  const text = await source.text('package.json');
  if (text === null) return null;
  let json: unknown;
  try {
    json = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    throw new WorkFailed('package.json is not valid JSON.');
  }
  if (!isObject(json)) throw new WorkFailed('package.json is not a JSON object.');
  const scripts = strings(json['scripts']);
  const groups = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'];
  const engines = strings(json['engines']);
  const hasScripts = installScripts.some((name) => scripts[name] !== undefined);
  const versions = groups.flatMap((group) => Object.values(strings(json[group])));
  return {
    main: typeof json['main'] === 'string' ? json['main'].replace(/^(\.\/)+/, '') : null,
    scripts,
    hasPackages:
      groups.some((group) => Object.keys(strings(json[group])).length > 0) ||
      json['workspaces'] !== undefined ||
      hasScripts,
    needsSource:
      hasScripts ||
      json['workspaces'] !== undefined ||
      versions.some((version) => /^(file:|link:|workspace:|\.{0,2}\/|~\/)/.test(version)),
    enginesNode: engines['node'] ?? null,
  };
}

function strings(value: unknown): Record<string, string> {
  if (!isObject(value)) return {};
  const entries = Object.entries(value).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1].trim() !== '',
  );
  return Object.fromEntries(entries);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** These files are tried in this order when nothing else says how to start. */
export const pythonMains = ['main.py', 'app.py', 'server.py', 'wsgi.py', 'run.py'] as const;
const goProgram = '.gangway-build/app';

export async function detectPython(
  source: ReleaseSource,
  tools: BuildTools | null,
): Promise<BuildPlan | null> {
  const requirements = await source.hasFile('requirements.txt');
  if (!requirements && !(await source.hasFile('pyproject.toml'))) return null;
  await requireProgram(tools, 'python3', 'Python');
  const install = requirements ? '-r requirements.txt' : '.';
  let startCommand: string | null = null;
  for (const main of pythonMains) {
    if (startCommand === null && (await source.hasFile(main))) startCommand = `python ${main}`;
  }
  return {
    found: requirements ? 'requirements.txt' : 'pyproject.toml',
    language: 'python',
    installs: 2,
    steps: [
      'python3 -m venv .venv',
      `.venv/bin/pip install --disable-pip-version-check --no-input ${install}`,
    ],
    notes: [],
    release: { kind: 'python', startCommand, staticDir: null },
  };
}

export async function detectGo(
  source: ReleaseSource,
  tools: BuildTools | null,
): Promise<BuildPlan | null> {
  if (!(await source.hasFile('go.mod'))) return null;
  await requireProgram(tools, 'go', 'Go');
  return {
    found: 'go.mod',
    language: 'go',
    installs: 0,
    steps: [`mkdir -p .gangway-build && go build -o ${goProgram} .`],
    notes: [],
    release: { kind: 'go', startCommand: `./${goProgram}`, staticDir: null },
  };
}

async function requireProgram(
  tools: BuildTools | null,
  name: string,
  language: string,
): Promise<void> {
  if (tools === null || (await tools.has(name))) return;
  throw new WorkFailed(`This is a ${language} app, and this server has no ${name}.`);
}
