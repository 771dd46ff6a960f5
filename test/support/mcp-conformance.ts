/** Runs the server scenarios of the official MCP conformance suite, and reads what it wrote of them. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const suite = fileURLToPath(new URL('../../node_modules/.bin/conformance', import.meta.url));
const endMs = 90_000;

interface Check {
  id: string;
  name: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  errorMessage?: string;
}

export interface SuiteRun {
  code: number | null;
  output: string;
  /** Of each scenario that ran. */
  checks: ReadonlyMap<string, readonly Check[]>;
}

/** Against `url`; `args` say what of it. */
export async function runSuite(url: string, args: readonly string[]): Promise<SuiteRun> {
  const folder = mkdtempSync(join(tmpdir(), 'gangway-mcp-suite-'));
  try {
    const child = spawn(process.execPath, [suite, 'server', '--url', url, '-o', folder, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const late = setTimeout(() => child.kill('SIGKILL'), endMs);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', resolve);
    });
    clearTimeout(late);
    return { code, output, checks: checksIn(folder) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One folder for each scenario: `server-<scenario>-<time>`. */
function checksIn(folder: string): Map<string, Check[]> {
  return new Map(
    readdirSync(folder).map((name) => {
      const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
      const json = readFileSync(join(folder, name, 'checks.json'), 'utf8');
      return [scenario, JSON.parse(json) as Check[]];
    }),
  );
}

/** Ids of the checks that were not passed: a warning is not passed either. */
export function unpassed(checks: readonly Check[] = []): string[] {
  const bad = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
  return [...new Set(bad.map(({ id }) => id))].sort();
}

export function passed(checks: readonly Check[] = []): number {
  return checks.filter(({ status }) => status === 'SUCCESS').length;
}
