/** Owns how Python and Go apps are built, where the host has the tools. */
import type { BuildPlan, BuildTools } from './plan.ts';
import { WorkFailed } from '../../workload/work-failed.ts';
import { findProgram } from './source.ts';
import type { Source } from './source.ts';

/** Looked for in this order when nothing else says how to start. */
export const pythonMains = ['main.py', 'app.py', 'server.py', 'wsgi.py', 'run.py'] as const;
const goProgram = '.gangway-build/app';

export async function detectPython(
  source: Source,
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
  source: Source,
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
  if (tools === null || (await findProgram(tools.path, name)) !== null) return;
  throw new WorkFailed(`This is a ${language} app, and this server has no ${name}.`);
}
