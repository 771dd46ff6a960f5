/** What every git provider does with its own deliveries, as it sends them (test/fixtures/git). */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type {
  HeaderOf,
  Provider,
  ProviderConnection,
  PushDelivery,
} from '../../src/git/providers/provider.ts';

export interface ProviderBench {
  provider: Provider;
  /** The folder of its deliveries. */
  fixtures: string;
  /** The headers by which a body is the provider's own. */
  sign: (body: Buffer, secret: string) => Record<string, string>;
  /** Whether the signature covers the body. */
  signsBody: boolean;
  connection: ProviderConnection;
  remote: ReturnType<Provider['remote']>;
  /** Where its list of repositories is asked for, and what it answers. */
  list: { url: RegExp; header: [name: string, value: string]; answer: unknown } | null;
}

const before = '1f0c6c1e5b7a4d3f8e9a2b4c6d8e0f1a3b5c7d9e';
const after = '9b2d7e4f6a8c0e1d3f5b7a9c1e3d5f7b9a0c2e4d';
const cartBefore = '4c6e8a0b2d4f6c8e0a1b3d5f7c9e1a3b5d7f9c0e';
const cartAfter = 'd7f9a1c3e5b7d9f1a3c5e7b9d1f3a5c7e9b1d3f5';
const secret = 'A secret for deliveries, ünïcode too';
const committedAtMs = 1_773_476_813_000;

export function hmac(body: Buffer, key: string): string {
  return createHmac('sha256', key).update(body).digest('hex');
}

interface Delivery {
  headers: Record<string, string>;
  body: Record<string, unknown>;
}

function recorded(folder: string, name: string): Delivery {
  const file = new URL(`../fixtures/git/${folder}/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')) as Delivery;
}

export function headerOf(headers: Readonly<Record<string, string>>): HeaderOf {
  return (name) => headers[name] ?? '';
}

export function run(name: string, bench: ProviderBench): void {
  const { provider, fixtures, sign, connection } = bench;
  const pushesOf = (what: string, change: object = {}): PushDelivery[] => {
    const { headers, body } = recorded(fixtures, what);
    const bytes = Buffer.from(JSON.stringify({ ...body, ...change }));
    const signed = headerOf({ ...headers, ...sign(bytes, secret) });
    assert.ok(provider.verify(signed, bytes, secret), what);
    return provider.pushes(signed, bytes);
  };
  const onePush = (what: string): PushDelivery => {
    const pushes = pushesOf(what);
    assert.equal(pushes.length, 1, what);
    const [push] = pushes;
    assert.ok(push);
    return push;
  };

  describe(`git provider ${name}`, () => {
    it('reads a push', () => {
      const push = onePush('push');
      assert.equal(push.event, 'push');
      assert.equal(push.repository, 'acme/shop');
      assert.ok(push.cloneUrls.some((url) => url.includes('acme/shop')));
      assert.deepEqual(push.ref, { kind: 'branch', name: 'main' });
      assert.deepEqual([push.before, push.after, push.created], [before, after, false]);
      assert.equal(push.commit?.message, 'Show prices with tax\n');
      assert.match(push.commit.author ?? 'Ada Byron', /^Ada Byron/);
      assert.equal(push.commit.atMs, committedAtMs);
      assert.equal(push.pusher, 'ada');
      assert.match(push.deliveryId ?? '', /^7f3b1c2d-.*000$/);
    });

    it('tells the files that a push changed, or that it does not know them all', () => {
      const { body } = recorded(fixtures, 'push');
      const files = provider.kind === 'bitbucket' ? null : ['src/tax.ts', 'src/price.ts'];
      assert.deepEqual(onePush('push').files, files);
      const commits = Array.isArray(body['commits']) ? (body['commits'] as object[]) : [];
      const odd = [
        [],
        [...commits, { id: cartBefore }],
        [...commits, { ...commits[0], added: [1] }],
      ];
      for (const list of odd) {
        const change = {
          commits: list,
          total_commits: list.length,
          total_commits_count: list.length,
        };
        assert.equal(pushesOf('push', change)[0]?.files, null);
      }
      const more = { total_commits: 30, total_commits_count: 30 };
      if (['gitlab', 'gitea', 'forgejo'].includes(provider.kind)) {
        assert.equal(pushesOf('push', more)[0]?.files, null);
      }
      for (const what of ['empty', 'deletion']) assert.equal(onePush(what).files, null, what);
    });

    it('reads a tag, a new branch without commits, and a push by force', () => {
      const tag = onePush('tag');
      assert.deepEqual([tag.event, tag.ref], ['tag', { kind: 'tag', name: 'v1.2.0' }]);
      assert.equal(tag.after, after);
      const empty = onePush('empty');
      assert.deepEqual([empty.before, empty.after, empty.created], [null, after, true]);
      assert.deepEqual(empty.ref, { kind: 'branch', name: 'feature/empty' });
      const forced = onePush('force-push');
      assert.deepEqual([forced.before, forced.after], [cartBefore, cartAfter]);
      assert.equal(forced.commit?.message, 'Rework the cart\n');
    });

    it('reads the deletion of a branch', () => {
      const { event, ref, after: head, commit, repository } = onePush('deletion');
      assert.deepEqual([event, head, commit], ['delete', null, null]);
      assert.deepEqual(ref, { kind: 'branch', name: 'feature/cart' });
      assert.equal(repository, 'acme/shop');
    });

    it('takes a ping and other events for no push', () => {
      assert.deepEqual(pushesOf('ping'), []);
    });

    it('reads a push of many commits and megabytes', () => {
      const message = 'x'.repeat(1_000_000);
      const many = Array.from({ length: 20 }, () => ({ id: cartBefore, message }));
      const list = recorded(fixtures, 'push').body['commits'];
      const commits = Array.isArray(list) ? [...many, ...(list as unknown[])] : many;
      assert.equal(pushesOf('push', { commits })[0]?.after, after);
    });

    it('is signed by the secret alone, and by every byte', () => {
      const { headers, body } = recorded(fixtures, 'push');
      const bytes = Buffer.from(JSON.stringify(body));
      const signature = sign(bytes, secret);
      const verify = (given: object, raw = bytes, key: string | null = secret): boolean =>
        provider.verify(headerOf({ ...headers, ...given }), raw, key);
      assert.ok(verify(signature));
      assert.ok(!verify({}), 'no signature');
      assert.ok(!verify(sign(bytes, 'another secret')), 'another secret');
      for (const [header, value] of Object.entries(signature)) {
        for (const bad of ['', value.slice(0, -1), `${value}0`, `${value}, ${value}`]) {
          assert.ok(!verify({ [header]: bad }), bad);
        }
      }
      if (provider.kind !== 'generic') assert.ok(!verify(signature, bytes, null), 'no secret');
      if (!bench.signsBody) return;
      for (let at = 0; at < bytes.length; at += 1 + Math.floor(bytes.length / 200)) {
        const flipped = Buffer.from(bytes);
        flipped[at] = (flipped[at] ?? 0) ^ 1;
        assert.ok(!verify(signature, flipped), `byte ${String(at)}`);
      }
    });

    it('refuses a body that is not what it sends', () => {
      const { headers } = recorded(fixtures, 'push');
      for (const body of ['', '{', 'null', '[]', '{}', '"text"', '{"ref":1}']) {
        const read = (): unknown => provider.pushes(headerOf(headers), Buffer.from(body));
        // A list of changes may be missing: then nothing moved.
        try {
          assert.deepEqual(read(), [], body);
        } catch (error) {
          assert.equal((error as { code?: unknown }).code, 'BAD_USER_INPUT', body);
        }
      }
      for (const body of ['', '{', 'payload=%7B%7D']) {
        const read = (): unknown => provider.pushes(headerOf(headers), Buffer.from(body));
        assert.throws(read, { code: 'BAD_USER_INPUT' }, body);
      }
    });

    it('refuses names that are none, or that programs take for something else', () => {
      const { headers, body } = recorded(fixtures, 'push');
      const text = JSON.stringify(body);
      const withBranch = (branch: string): Buffer =>
        Buffer.from(
          text
            .replaceAll('"refs/heads/main"', JSON.stringify(`refs/heads/${branch}`))
            .replaceAll('"name":"main"', `"name":${JSON.stringify(branch)}`),
        );
      for (const branch of ['--upload-pack=x', '../../x', 'a..b', 'a b', 'a\nb', 'x.lock', '']) {
        const read = (): unknown => provider.pushes(headerOf(headers), withBranch(branch));
        assert.throws(read, { code: 'BAD_USER_INPUT' }, branch);
      }
      const odd = Buffer.from(text.replaceAll(after, `--output=${after}`.slice(0, 40)));
      assert.throws(() => provider.pushes(headerOf(headers), odd), { code: 'BAD_USER_INPUT' });
    });

    it('tells where a repository is cloned from', () => {
      assert.deepEqual(provider.remote(connection, 'acme/shop'), bench.remote);
      const open = provider.remote({ ...connection, token: null }, 'acme/shop');
      assert.deepEqual(open, { url: bench.remote.url, credentials: null });
      for (const odd of ['../../etc', 'acme/../x', 'acme', '-x/y', 'a b/c', 'https://x/y']) {
        assert.throws(() => provider.remote(connection, odd), { code: 'BAD_USER_INPUT' }, odd);
      }
    });

    it('lists the repositories of the connection', async () => {
      const asked: [string, Readonly<Record<string, string>>][] = [];
      const api = {
        json: (url: string, headers: Readonly<Record<string, string>>) => {
          asked.push([url, headers]);
          return Promise.resolve(bench.list?.answer);
        },
      };
      const found = await provider.repositories(connection, 'shop', api);
      if (bench.list === null) {
        assert.deepEqual([found, asked], [[], []]);
        return;
      }
      assert.deepEqual(found, [{ fullName: 'acme/shop', defaultBranch: 'main', private: true }]);
      const [[url, headers] = ['', {} as Record<string, string>]] = asked;
      assert.match(url, bench.list.url);
      assert.equal(headers[bench.list.header[0]], bench.list.header[1]);
      const odd = { json: () => Promise.resolve('nothing of the kind') };
      assert.deepEqual(await provider.repositories(connection, '', odd), []);
    });
  });
}
