import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ProviderConnection } from '../../../../src/git/providers/provider.ts';
import { providers } from '../../../../src/git/providers/providers.ts';
import {
  headerOf,
  hmac,
  type ProviderBench,
  run,
} from '../../../conformance/git-provider.suite.ts';

const connected = (baseUrl: string, username: string | null = null): ProviderConnection => ({
  ...{ baseUrl, username, token: 'token-of-acme' },
});
const remoteOf = (root: string, username: string): ProviderBench['remote'] => ({
  url: `${root}/acme/shop.git`,
  credentials: { username, secret: 'token-of-acme' },
});
const inHeader =
  (name: string, prefix = ''): ProviderBench['sign'] =>
  (body, secret) => ({ [name]: prefix + hmac(body, secret) });
const listed = { full_name: 'acme/shop', default_branch: 'main', private: true };

run('gitlab', {
  provider: providers.gitlab,
  fixtures: 'gitlab',
  sign: (_body, secret) => ({ 'x-gitlab-token': secret }),
  signsBody: false,
  connection: connected('https://gitlab.example.com'),
  remote: remoteOf('https://gitlab.example.com', 'oauth2'),
  list: {
    url: /^https:\/\/gitlab\.example\.com\/api\/v4\/projects\?.*membership=true.*search=shop/,
    header: ['authorization', 'Bearer token-of-acme'],
    answer: [
      { path_with_namespace: 'acme/shop', default_branch: 'main', visibility: 'internal' },
      { id: 2 },
    ],
  },
});

for (const kind of ['gitea', 'forgejo'] as const) {
  run(kind, {
    provider: providers[kind],
    fixtures: kind,
    sign: inHeader(`x-${kind}-signature`),
    signsBody: true,
    connection: connected(`https://${kind}.example.com`),
    remote: remoteOf(`https://${kind}.example.com`, 'oauth2'),
    list: {
      url: /\/api\/v1\/repos\/search\?q=shop/,
      header: ['authorization', 'token token-of-acme'],
      answer: { ok: true, data: [listed] },
    },
  });
}

// Older versions sign and name their deliveries as Gitea does.
run('forgejo, of an older version', {
  provider: providers.forgejo,
  fixtures: 'gitea',
  sign: inHeader('x-gitea-signature'),
  signsBody: true,
  connection: connected('https://forgejo.example.com/git', 'ada'),
  remote: remoteOf('https://forgejo.example.com/git', 'ada'),
  list: {
    url: /^https:\/\/forgejo\.example\.com\/git\/api\/v1\//,
    header: ['authorization', 'token token-of-acme'],
    answer: { ok: true, data: [listed] },
  },
});

run('gogs', {
  provider: providers.gogs,
  fixtures: 'gogs',
  sign: inHeader('x-gogs-signature'),
  signsBody: true,
  connection: connected('https://gogs.example.com', 'ada'),
  remote: remoteOf('https://gogs.example.com', 'ada'),
  list: {
    url: /\/api\/v1\/user\/repos$/,
    header: ['authorization', 'token token-of-acme'],
    answer: [listed, { ...listed, full_name: 'acme/other' }],
  },
});

run('bitbucket cloud', {
  provider: providers.bitbucket,
  fixtures: 'bitbucket',
  sign: inHeader('x-hub-signature', 'sha256='),
  signsBody: true,
  connection: connected('https://bitbucket.org'),
  remote: remoteOf('https://bitbucket.org', 'x-token-auth'),
  list: {
    url: /^https:\/\/api\.bitbucket\.org\/2\.0\/repositories\?role=member.*shop/,
    header: ['authorization', 'Bearer token-of-acme'],
    answer: {
      values: [{ full_name: 'acme/shop', mainbranch: { name: 'main' }, is_private: true }],
    },
  },
});

run('bitbucket data center', {
  provider: providers.bitbucket,
  fixtures: 'bitbucket-server',
  sign: inHeader('x-hub-signature', 'sha256='),
  signsBody: true,
  connection: connected('https://bitbucket.example.com', 'ada'),
  remote: remoteOf('https://bitbucket.example.com/scm', 'ada'),
  list: {
    url: /^https:\/\/bitbucket\.example\.com\/rest\/api\/1\.0\/repos\?.*name=shop/,
    header: ['authorization', `Basic ${Buffer.from('ada:token-of-acme').toString('base64')}`],
    answer: { values: [{ slug: 'shop', project: { key: 'acme' }, public: false }] },
  },
});

run('generic', {
  provider: providers.generic,
  fixtures: 'generic',
  sign: inHeader('x-hub-signature-256', 'sha256='),
  signsBody: true,
  connection: connected('https://git.example.com'),
  remote: remoteOf('https://git.example.com', 'git'),
  list: null,
});

run('github', {
  provider: providers.github,
  fixtures: 'github',
  sign: inHeader('x-hub-signature-256', 'sha256='),
  signsBody: true,
  connection: connected('https://github.com'),
  remote: remoteOf('https://github.com', 'x-access-token'),
  list: {
    url: /^https:\/\/api\.github\.com\/installation\/repositories/,
    header: ['authorization', 'Bearer token-of-acme'],
    answer: { total_count: 1, repositories: [listed] },
  },
});

describe('git providers', () => {
  it('take the signature that GitHub documents', () => {
    const body = Buffer.from('Hello, World!');
    const signature = '757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
    const header = headerOf({ 'x-hub-signature-256': `sha256=${signature}` });
    assert.ok(providers.github.verify(header, body, "It's a Secret to Everybody"));
  });

  it('take a generic delivery without a secret by its address alone', () => {
    assert.ok(providers.generic.verify(headerOf({}), Buffer.from('{}'), null));
  });

  it('read of a generic delivery no more than ref, commit and repository', () => {
    const after = 'a'.repeat(40);
    const body = { ref: 'refs/heads/main', after, repository: { full_name: 'acme/shop' } };
    const [push] = providers.generic.pushes(headerOf({}), Buffer.from(JSON.stringify(body)));
    assert.equal(push?.after, after);
    assert.deepEqual([push.deliveryId, push.commit, push.pusher], [null, null, null]);
  });

  it('read every branch that one push to Bitbucket moves', () => {
    const change = (name: string, hash: string): object => ({
      old: null,
      new: { type: 'branch', name, target: { hash, message: 'x', date: '2026-03-14T09:26:53Z' } },
    });
    const body = {
      repository: { full_name: 'acme/shop' },
      push: { changes: [change('a', 'a'.repeat(40)), change('b', 'b'.repeat(40))] },
    };
    const header = headerOf({ 'x-event-key': 'repo:push' });
    const pushes = providers.bitbucket.pushes(header, Buffer.from(JSON.stringify(body)));
    assert.deepEqual(
      pushes.map(({ ref }) => ref.name),
      ['a', 'b'],
    );
  });
});
