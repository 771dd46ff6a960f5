import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkedDocument } from '../../../../src/auth/oauth/client-documents.ts';
import { resourceMetadata, serverMetadata } from '../../../../src/auth/oauth/metadata.ts';
import {
  impliedApplicationType,
  policySource,
  shownTarget,
} from '../../../../src/auth/oauth/redirects.ts';
import { capabilitiesAmong, offeredScope } from '../../../../src/auth/oauth/scopes.ts';
import { FetchRefused } from '../../../../src/lib/guarded-fetch.ts';
import { capabilities } from '../../../../src/lib/capabilities.ts';

describe('impliedApplicationType()', () => {
  it('takes loopback and schemes of applications for native', () => {
    const native = [
      ['http://localhost/cb'],
      ['http://127.0.0.1:8080/cb'],
      ['http://[::1]/cb'],
      ['com.example.app:/cb'],
      ['https://a.test/cb', 'http://127.0.0.1/cb'],
    ];
    for (const uris of native) assert.equal(impliedApplicationType(uris), 'native', uris.join());
    for (const uris of [['https://a.test/cb'], ['http://a.test/cb'], [], undefined, [7]]) {
      assert.equal(impliedApplicationType(uris), 'web');
    }
  });
});

describe('shownTarget() and policySource()', () => {
  it('name a host with its port, or the scheme of an application', () => {
    assert.equal(shownTarget('https://a.test:8443/cb?x'), 'a.test:8443');
    assert.equal(shownTarget('com.example.app:/cb'), 'com.example.app:');
    assert.equal(policySource('https://a.test:8443/cb'), 'https://a.test:8443');
    assert.equal(policySource('http://[::1]:99/cb'), 'http:');
    assert.equal(policySource('com.example.app:/cb'), 'com.example.app:');
  });
});

describe('offeredScope()', () => {
  it('leaves what is asked for as it is', () => {
    assert.equal(offeredScope('openid deploy_apps deploy_apps'), 'openid deploy_apps');
  });

  it('offers to look on where no capability is named', () => {
    assert.equal(offeredScope('openid'), 'openid view_logs view_metrics view_activity');
    const views = ['view_logs', 'view_metrics', 'view_activity'];
    assert.deepEqual(capabilitiesAmong(offeredScope(null).split(' ')), views);
    assert.match(offeredScope(''), /offline_access/);
  });
});

describe('the discovery documents', () => {
  it('name every capability as a scope, and the endpoints below the issuer', () => {
    const metadata = serverMetadata('https://panel.test');
    const scopes = metadata['scopes_supported'] as string[];
    assert.ok([...capabilities, 'openid', 'offline_access'].every((one) => scopes.includes(one)));
    assert.equal(metadata['token_endpoint'], 'https://panel.test/api/auth/oauth2/token');
    assert.ok((metadata['token_endpoint_auth_methods_supported'] as string[]).includes('none'));
    const resource = resourceMetadata('https://panel.test');
    assert.deepEqual(resource['authorization_servers'], [metadata['issuer']]);
  });
});

describe('checkedDocument()', () => {
  const id = 'https://a.test/client.json';
  const document = { client_id: id, client_name: 'A', redirect_uris: ['https://a.test/cb'] };
  const check = (over: object): unknown =>
    checkedDocument(id, JSON.stringify({ ...document, ...over }));

  it('takes a document that speaks of its own address', () => {
    assert.deepEqual(checkedDocument(id, JSON.stringify(document)), document);
  });

  it('refuses what is no JSON, incomplete, of somebody else, or holds a secret', () => {
    const wrong = [
      { client_id: 'https://a.test/other.json' },
      { client_name: ' ' },
      { redirect_uris: [] },
      { client_secret: 'x' },
      { token_endpoint_auth_method: 'client_secret_post' },
    ];
    for (const over of wrong) assert.throws(() => check(over), FetchRefused, JSON.stringify(over));
    assert.throws(() => checkedDocument(id, '<html>'), FetchRefused);
    assert.throws(() => checkedDocument(id, '[]'), FetchRefused);
  });
});
