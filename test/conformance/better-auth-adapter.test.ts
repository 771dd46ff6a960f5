import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';

interface Report {
  numTotalTests: number;
  numPassedTests: number;
  numFailedTests: number;
  testResults: { assertionResults: { status: string; fullName: string }[] }[];
}

it('authAdapter() passes the suites better-auth has for its adapters', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'gangway-adapter-'));
  try {
    const file = join(dir, 'report.json');
    const child = spawn(
      process.execPath,
      ['node_modules/vitest/vitest.mjs', 'run', '--reporter=json', `--outputFile=${file}`],
      { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NODE_OPTIONS: '' } },
    );
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const code = await new Promise((resolve) => child.once('close', resolve));
    const report = JSON.parse(await readFile(file, 'utf8')) as Report;
    const failed = report.testResults
      .flatMap((result) => result.assertionResults)
      .filter((result) => result.status === 'failed')
      .map((result) => result.fullName);
    assert.deepEqual(failed, [], output.slice(-10_000));
    assert.equal(code, 0, output.slice(-10_000));
    assert.ok(report.numPassedTests > 100, `${report.numPassedTests} tests passed`);
    assert.equal(report.numFailedTests, 0);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
