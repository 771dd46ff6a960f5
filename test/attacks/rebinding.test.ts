/**
 * DNS rebinding: a page of another site has its own name lead to this machine, and its requests come from
 * the browser of whoever looks at it, from loopback. Only their Host tells.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { Gangway } from '../support/gangway.ts';
import { owner } from '../support/gangway-client.ts';
import { type PlainAnswer, plainRequest } from '../support/plain-request.ts';

const foreign = [
  'rebound.example',
  'app.localhost',
  'localhost.rebound.example',
  '127.0.0.1.rebound.example',
  'panel.example.test.rebound.example',
];
const ours = ['127.0.0.1', '[::1]', 'localhost', 'panel.example.test'];
const setUp = `mutation($email: String!, $password: String!, $setupCode: String) {
  completeSetup(email: $email, password: $password, name: "Eve", teamName: "E", setupCode: $setupCode) {
    viewer { id } } }`;

for (const threads of ['1', '2']) {
  describe(`a page under another name, over ${threads} gateway threads`, () => {
    it('takes over no fresh instance, and reads no metrics', async (t) => {
      const gangway = await Gangway.create({
        env: {
          GANGWAY_GATEWAY_THREADS: threads,
          GANGWAY_METRICS_NETWORKS: '127.0.0.0/8, ::1',
          GANGWAY_PUBLIC_URL: 'https://panel.example.test',
        },
      });
      t.after(() => gangway.end());
      await gangway.start();
      const { port } = gangway;
      const at = (host: string): string => `${host}:${String(port)}`;
      const get = (host: string, path: string): Promise<PlainAnswer> =>
        plainRequest({ port, path, headers: { host: at(host) } });
      const takeOver = (host: string, setupCode: string | null): Promise<PlainAnswer> =>
        plainRequest({
          port,
          method: 'POST',
          path: '/api/graphql',
          headers: {
            host: at(host),
            origin: `http://${at(host)}`,
            'sec-fetch-site': 'same-origin',
            'content-type': 'application/json',
          },
          body: JSON.stringify({ query: setUp, variables: { ...owner, setupCode } }),
        });

      for (const host of foreign) {
        const asked = await takeOver(host, null);
        assert.match(asked.text, /SETUP_CODE_REQUIRED/, host);
        const form = new URLSearchParams({ ...owner, name: 'Eve', teamName: 'E' }).toString();
        const posted = await plainRequest({
          port,
          method: 'POST',
          path: '/setup',
          headers: { host: at(host), 'content-type': 'application/x-www-form-urlencoded' },
          body: form,
        });
        assert.match(posted.text, /Give the setup code/, host);
        assert.match((await get(host, '/setup')).text, /name="setupCode"/, host);
        assert.equal((await get(host, '/metrics')).status, 401, host);
      }
      for (const host of ours) {
        // While a closed connection tells no uid any more, the code is asked for: the safe side.
        const needsNoCode = async (): Promise<boolean> =>
          !(await get(host, '/setup')).text.includes('name="setupCode"');
        await eventually(`${host} needs no code`, needsNoCode);
        assert.equal((await get(host, '/metrics')).status, 200, host);
      }

      // The owner, under a name of the machine that nobody configured, has the code that was printed.
      const [, code = ''] = /[?&]code=([^\s&]+)/.exec(gangway.output) ?? [];
      const done = await takeOver('box.example.test', decodeURIComponent(code));
      assert.match(done.text, /"viewer":\{"id"/);
    });
  });
}
