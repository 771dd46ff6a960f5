/**
 * An app of another Gangway on the same machine asks a fresh instance over loopback, which needs no code there.
 * Only the uid of its connection tells.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import net from 'node:net';
import { describe, it } from 'node:test';

import { eventually } from '../support/eventually.ts';
import { Gangway } from '../support/gangway.ts';
import { owner } from '../support/gangway-client.ts';
import { plainRequest } from '../support/plain-request.ts';
import { needs } from '../support/programs.ts';

const appUid = 219_003;
const setUp = `mutation($email: String!, $password: String!) {
  completeSetup(email: $email, password: $password, name: "Eve", teamName: "E") { viewer { id } } }`;

/** Sends what it is told, again and again, and leaves in the way it is told; says what it was answered at last. */
const attacker = `const net = require('node:net');
const { port, host, request, leaves, times } = JSON.parse(process.argv.at(-1));
const ask = () => new Promise((resolve) => {
  let text = '';
  const socket = net.connect({ port, host }, () => {
    socket.write(request, () => {
      if (leaves === 'by reset') socket.resetAndDestroy();
      if (leaves === 'at once') socket.destroy();
    });
  });
  socket.on('data', (more) => (text += more)).on('error', () => undefined);
  socket.once('close', () => resolve(text));
});
(async () => {
  let said = '';
  for (let asked = 0; asked < times; asked++) said = await ask();
  console.log(said);
})();`;

for (const threads of ['1', '2']) {
  describe(
    `an app at a fresh instance, over ${threads} gateway threads`,
    { skip: needs('root') },
    () => {
      it('takes it over in no way, and its owner needs no code once it is gone', async (t) => {
        const gangway = await Gangway.create({ env: { GANGWAY_GATEWAY_THREADS: threads } });
        t.after(() => gangway.end());
        await gangway.start();
        const { port } = gangway;
        const headers = { host: `127.0.0.1:${String(port)}` };
        const page = async (): Promise<string> =>
          (await plainRequest({ port, path: '/setup', headers })).text;
        const needsNoCode = async (): Promise<boolean> =>
          !(await page()).includes('name="setupCode"');
        await eventually('the owner needs no code', needsNoCode);
        // The owner looks at the page meanwhile.
        const browser = net.connect(port, '127.0.0.1').on('error', () => undefined);
        t.after(() => browser.destroy());
        const said = (leaves: string, times: number, host = '127.0.0.1'): Promise<string> =>
          runAs(
            appUid,
            attacker,
            JSON.stringify({ port, host, request: requestOf(port), leaves, times }),
          );

        assert.match(await said('when it is answered', 1), /SETUP_CODE_REQUIRED/);
        await said('at once', 20);
        await said('by reset', 20);
        await eventually('all is forgotten', needsNoCode);

        const staying = spawn(
          process.execPath,
          ['-e', `require('node:net').connect(${String(port)}, '127.0.0.1')`],
          { uid: appUid, gid: appUid, cwd: '/', stdio: 'ignore' },
        );
        t.after(() => staying.kill());
        await eventually('it is seen', async () => !(await needsNoCode()));
        const gone = new Promise((resolve) => staying.once('exit', resolve));
        staying.kill('SIGKILL');
        await gone;
        await eventually('it is forgotten', needsNoCode);
        const done = await plainRequest({
          ...{ port, method: 'POST', path: '/api/graphql', body: bodyOf() },
          headers: { ...headers, 'content-type': 'application/json' },
        });
        assert.match(done.text, /"viewer":\{"id"/);
      });
    },
  );
}

const bodyOf = (): string => JSON.stringify({ query: setUp, variables: owner });

function requestOf(port: number): string {
  const body = bodyOf();
  return [
    'POST /api/graphql HTTP/1.1',
    `Host: 127.0.0.1:${String(port)}`,
    'Content-Type: application/json',
    `Content-Length: ${String(Buffer.byteLength(body))}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}

function runAs(uid: number, script: string, argument: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['-e', script, '--', argument], {
      ...{ uid, gid: uid, cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] },
    });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (more: string) => (text += more));
    child.once('error', reject).once('close', () => {
      resolve(text);
    });
  });
}
