/** The authorization-server scenarios of the official MCP conformance suite, against a whole Gangway. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Gangway } from '../support/gangway.ts';
import { freePort } from '../support/ports.ts';
import * as oauth from '../support/oauth.ts';

const suite = fileURLToPath(new URL('../../node_modules/.bin/conformance', import.meta.url));
const endMs = 60_000;

let gangway: Gangway;

before(async () => {
  gangway = await Gangway.open();
});

after(() => gangway.end());

describe('the MCP conformance suite', () => {
  for (const version of ['2025-11-25', '2026-07-28']) {
    it(`passes us as an authorization server of ${version}`, async () => {
      const port = await freePort();
      const { body } = await oauth.register(gangway.url, {
        redirect_uris: [`http://127.0.0.1:${String(port)}/callback`],
      });
      const { code, output } = await run(port, body.client_id, version);
      assert.match(output, /authorization-server-metadata-endpoint: [1-9]\d* passed, 0 failed/);
      assert.match(output, /authorization-code-grant: [1-9]\d* passed, 0 failed/);
      assert.equal(code, 0, output);
    });
  }
});

/** Runs the suite, and goes to the address that it asks a person to open. */
function run(
  port: number,
  clientId: string,
  version: string,
): Promise<{ code: number | null; output: string }> {
  const about = ['--url', `${gangway.url}/api/auth`, '--resource', `${gangway.url}/api/mcp`];
  const client = ['--client-id', clientId, '-p', String(port), '--spec-version', version];
  const child = spawn(process.execPath, [suite, 'authorization', ...about, ...client], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const late = setTimeout(() => child.kill('SIGKILL'), endMs);
  let output = '';
  let visit: Promise<unknown> | null = null;
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        const address = /^http\S+\/oauth2\/authorize\?\S+(?=\s)/m.exec(output)?.[0];
        // It listens by the time it says so.
        if (address === undefined || !output.includes('Callback server started')) return;
        visit ??= goThrough(address).catch(reject);
      });
    }
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(late);
      resolve({ code, output });
    });
  });
}

async function goThrough(address: string): Promise<void> {
  const back = await oauth.redirectAfter(oauth.consent(gangway.client, address));
  await fetch(back);
}
