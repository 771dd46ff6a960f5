import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { remoteFlaw } from '../../../../src/git/fetching/remote-flaw.ts';
import { AddressPolicy } from '../../../../src/lib/address-policy.ts';
import { GuardedFetch } from '../../../../src/lib/guarded-fetch.ts';

const policy = new AddressPolicy({ privateNetworks: ['10.1.0.0/16'] });
const flawOf = (url: string): string | null => remoteFlaw(url, new GuardedFetch({ policy }));

describe('remoteFlaw()', () => {
  it('is null for addresses that may be fetched', () => {
    for (const url of ['https://git.example/a/b.git', 'http://10.1.2.3/a', 'https://1.1.1.1/a']) {
      assert.equal(flawOf(url), null, url);
    }
  });

  it('says what is wrong with others', () => {
    for (const [url, words] of [
      ['ssh://git@git.example/a.git', /by https, not by ssh/],
      ['git+ssh://git.example/a.git', /by https, not by ssh/],
      ['file:///etc', /Only https/],
      ['git://git.example/a', /Only https/],
      ['https://', /no URL/],
      ['https://169.254.169.254/a', /not public/],
      ['https://10.2.0.1/a', /not public/],
      ['https://[::1]/a', /not public/],
      ['https://git.example/a?b=c', /query/],
      ['https://git.example/a#b', /fragment/],
    ] as const) {
      assert.match(flawOf(url) ?? '', words, url);
    }
  });
});
