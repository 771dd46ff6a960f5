import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { findBranch, type Link, packOf } from '../../../../src/git/fetching/upload-pack.ts';
import { packet } from '../../../../src/git/pkt-line.ts';
import { AddressPolicy } from '../../../../src/lib/address-policy.ts';
import { GuardedFetch } from '../../../../src/lib/guarded-fetch.ts';
import { type Answer, GitServer } from '../../../support/git-server.ts';
import { needs } from '../../../support/programs.ts';

const loopback = new AddressPolicy({ privateNetworks: ['127.0.0.0/8'] });
const offer = 'application/x-git-upload-pack-advertisement';
const sha = 'a'.repeat(40);

describe('asking a git server', { skip: needs('git') }, () => {
  const server = new GitServer();
  before(() => server.open());
  after(() => server.close());

  function linkTo(name: string, more: Partial<Link> = {}): Link {
    const http = new GuardedFetch({ policy: loopback });
    const remote = { url: `${server.url}/${name}`, credentials: null };
    return { http, remote, silenceMs: 10_000, signal: new AbortController().signal, ...more };
  }

  function answer(status: number, type: string, ...parts: (string | Buffer)[]): Answer {
    return (_request, response) => {
      response.writeHead(status, { 'content-type': type, location: 'https://evil.example/x.git' });
      for (const part of parts) response.write(part);
      response.end();
    };
  }

  it('finds the branch, by the new protocol and by that of old', async () => {
    server.create('known', { a: '1' });
    const tip = server.commit('known', { a: '2' }, 'x', 'topic/one');
    for (const version of [2, 0]) {
      server.isOld = version === 0;
      const found = await findBranch(linkTo('known.git'), 'topic/one');
      assert.deepEqual(found, { sha: tip, version });
      const chunks: Uint8Array[] = [];
      for await (const chunk of packOf(linkTo('known.git'), found, [])) chunks.push(chunk);
      assert.equal(Buffer.concat(chunks).toString('latin1', 0, 4), 'PACK');
    }
    server.isOld = false;
    await assert.rejects(findBranch(linkTo('known.git'), 'topic'), /There is no branch topic in/);
    await assert.rejects(findBranch(linkTo('gone.git'), 'main'), /There is no such repository/);
  });

  it('sends credentials in a header alone, and tells what they are needed for', async () => {
    server.create('private', { a: '1' });
    server.login = 'bot:s3cret/&';
    const credentials = { username: 'bot', secret: 's3cret/&' };
    const remote = { url: `${server.url}/private.git`, credentials };
    server.requests.length = 0;
    await findBranch(linkTo('', { remote }), 'main');
    for (const { url, authorization } of server.requests) {
      assert.ok(!url.includes('s3cret'), url);
      assert.equal(authorization, `Basic ${Buffer.from('bot:s3cret/&').toString('base64')}`);
    }
    const wrong = { ...remote, credentials: { username: 'bot', secret: 'old' } };
    const refused = findBranch(linkTo('', { remote: wrong }), 'main');
    await assert.rejects(refused, /refuses the credentials of the connection/);
    await assert.rejects(findBranch(linkTo('private.git'), 'main'), /asks for credentials/);
    server.login = null;
  });

  it('follows no redirect, and says where it leads', async () => {
    server.answers.set('/moved.git', answer(301, 'text/html'));
    const asked = findBranch(linkTo('moved.git'), 'main');
    await assert.rejects(asked, /has moved to https:\/\/evil\.example\/x\.git: redirects are not/);
  });

  it('says in a sentence what a server is that is none, or is hostile', async () => {
    const tries: [Answer, RegExp][] = [
      [answer(200, 'text/html', '<html>'), /There is no git repository at this address/],
      [answer(500, 'text/html', 'x'), /answered with status 500/],
      [answer(200, offer, 'zzzz'), /sent what is no answer of git/],
      [answer(200, offer, packet('version 2\n').subarray(0, 7)), /sent what is no answer of git/],
      [answer(200, offer, packet('ERR no\u001b[2J way')), /refuses: no \[2J way/],
      [answer(200, offer, packet('version 2'), packet('object-format=sha256')), /SHA-256/],
      [answer(200, offer, packet(`${'g'.repeat(40)} refs/heads/main\0x`)), /There is no branch/],
      [(_request, response) => response.destroy(), /cannot be reached \(ECONNRESET\)/],
    ];
    for (const [own, reason] of tries) {
      server.answers.set('/odd.git', own);
      await assert.rejects(findBranch(linkTo('odd.git'), 'main'), reason);
    }
  });

  it('leaves a server that is silent, before and amidst its answer', async () => {
    const silent: Answer[] = [
      () => undefined,
      (_request, response) => {
        response.writeHead(200, { 'content-type': offer });
        response.write(packet('version 2\n'));
      },
    ];
    for (const own of silent) {
      server.answers.set('/silent.git', own);
      const link = linkTo('silent.git', { silenceMs: 100 });
      await assert.rejects(findBranch(link, 'main'), /does not answer/);
    }
  });

  it('tells why the server sends no objects', async () => {
    const result = 'application/x-git-upload-pack-result';
    const tries: [Buffer[], RegExp][] = [
      [[packet('packfile\n'), packet('\u0003it broke\n')], /The git server failed: it broke/],
      [[packet('shallow-info\n')], /sent no objects/],
      [[packet('ERR upload-pack: not our ref')], /refuses: upload-pack: not our ref/],
    ];
    for (const [parts, reason] of tries) {
      server.answers.set('/pack.git', answer(200, result, ...parts));
      const read = async (): Promise<void> => {
        for await (const chunk of packOf(linkTo('pack.git'), { sha, version: 2 }, [])) {
          assert.fail(`there is no pack in ${String(chunk.length)} bytes`);
        }
      };
      await assert.rejects(read, reason);
    }
  });

  it('connects to no address that is not admitted, whatever the name says', async () => {
    const asked: string[] = [];
    const trap = createServer((request) => asked.push(request.url ?? ''));
    await new Promise<void>((resolve) => trap.listen(0, '127.0.0.1', resolve));
    const { port } = trap.address() as AddressInfo;
    const http = new GuardedFetch({
      policy: new AddressPolicy({ privateNetworks: [] }),
      resolve: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
    });
    for (const host of ['git.example', '127.0.0.1', '[::1]', '169.254.169.254']) {
      const remote = { url: `https://${host}:${String(port)}/x.git`, credentials: null };
      const refused = findBranch(linkTo('', { http, remote }), 'main');
      await assert.rejects(refused, /Its address is not public/);
    }
    assert.deepEqual(asked, []);
    trap.close();
  });
});
