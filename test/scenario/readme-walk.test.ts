import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';
import { Gangway } from '../support/gangway.ts';
import { needs } from '../support/programs.ts';

/** The commands between the marks of the walk, as they stand in the README. */
function walk(): string {
  const text = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const part = /<!-- walk -->([\s\S]*?)<!-- \/walk -->/.exec(text)?.[1] ?? '';
  const blocks = [...part.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, commands]) => commands);
  assert.ok(blocks.length >= 6);
  return blocks.join('\n');
}

/** Runs a script in a shell; resolves with all that it printed. */
function shell(
  script: string,
  env: Record<string, string>,
): Promise<{ code: number; text: string }> {
  const child = spawn('bash', ['-c', script], { env: { ...process.env, ...env } });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (more: string) => {
      text += more;
    });
  }
  return new Promise((resolve) => {
    child.once('close', (code) => {
      resolve({ code: code ?? -1, text });
    });
  });
}

describe('the five minutes of the README', { skip: needs('curl') }, () => {
  const later = cleanups();
  const folder = mkdtempSync(join(tmpdir(), 'gangway-walk-'));
  later(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  let gangway: Gangway;
  before(async () => {
    gangway = await Gangway.create();
    later(() => gangway.end());
    await gangway.start();
  });

  it('end with an app that answers and a log that shows it', { timeout: 90_000 }, async () => {
    const { code, text } = await shell(`set -eu\n${walk()}`, {
      GANGWAY: gangway.url,
      TMPDIR: folder,
    });
    assert.equal(code, 0, text);
    assert.match(text, /"completeSetup":\{"viewer":\{"email":"me@example.com"\}\}/);
    assert.match(text, /"ok":true,"upload":\{"filename":"hello.tar.gz"/);
    assert.match(text, /"deploymentId":"dpl_[^"]+","appId":"app_[^"]+","status":"queued"/);
    assert.match(text, /^Hello from Gangway$/m);
    assert.match(text, /^event: session$/m);
    assert.match(text, /^data: "\d{4}-\d\d-\d\dT[\d:.]+Z listening on \d+/m);
    assert.match(text, /GET \/\\n/);
  });
});
