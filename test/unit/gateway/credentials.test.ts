import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Authenticator } from '../../../src/auth/callers/authenticator.ts';
import { Callers, type PublicUrl } from '../../../src/gateway/credentials.ts';
import type { Exchange } from '../../../src/gateway/transport.ts';
import { RateLimit } from '../../../src/lib/rate-limit.ts';
import { ServiceError, type ErrorCode } from '../../../src/lib/errors.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const person = { kind: 'person', userId: 'usr_1', sessionId: 'ses_1', teamId: null } as const;
const token = { kind: 'token', userId: 'usr_1', tokenId: 'tok_1', teamId: null } as const;

const authenticator: Authenticator = {
  byCookie: (given) => (given.cookieHeader === 'good' ? person : { kind: 'anonymous' }),
  byToken(given) {
    if (given.authorization === 'Bearer good') return token;
    throw new ServiceError('UNAUTHENTICATED', 'The token is no good.');
  },
  stillValid: () => true,
};

/** The little of an exchange that callers look at. */
function request(headers: Record<string, string>): Exchange & { added: string[] } {
  const added: string[] = [];
  const fake: Partial<Exchange> & { added: string[] } = {
    added,
    address: '192.0.2.1',
    secure: false,
    header: (name) => headers[name] ?? '',
    headerCount: (name) => (headers[name] === undefined ? 0 : headers[name].split(', ').length),
    addHeader: (name, value) => {
      added.push(`${name}: ${value}`);
    },
  };
  return fake as Exchange & { added: string[] };
}

function callers(publicUrl: Partial<PublicUrl> = {}, failures?: RateLimit): Callers {
  return new Callers({
    authenticator,
    renewal: { renew: () => 'service.session_token=longer' },
    publicUrl: () => ({ url: 'https://panel.example.com', configured: true, ...publicUrl }),
    ...(failures && { failures }),
  });
}

function code(run: () => unknown): ErrorCode | 'fine' {
  try {
    run();
    return 'fine';
  } catch (error) {
    if (error instanceof ServiceError) return error.code;
    throw error;
  }
}

describe('Callers.cookiePerson()', () => {
  const call = (headers: Record<string, string>, changes = false): ErrorCode | 'fine' =>
    code(() => callers().cookiePerson(request(headers), { changes }));

  it('takes the cookie alone', () => {
    assert.equal(call({ cookie: 'good' }), 'fine');
    assert.equal(call({ cookie: 'stale' }), 'UNAUTHENTICATED');
    assert.equal(call({}), 'UNAUTHENTICATED');
  });

  it('refuses a bearer token, also beside a good cookie, and also a bad one', () => {
    assert.equal(call({ authorization: 'Bearer good' }), 'COOKIE_REQUIRED');
    assert.equal(call({ authorization: 'bearer x', cookie: 'good' }), 'COOKIE_REQUIRED');
    assert.equal(
      call({ authorization: 'Basic eA==, Bearer x', cookie: 'good' }),
      'COOKIE_REQUIRED',
    );
    assert.equal(call({ authorization: 'Basic eA==', cookie: 'good' }), 'fine');
  });

  it('slides the session', () => {
    const one = request({ cookie: 'good' });
    callers().cookiePerson(one, { changes: false });
    assert.deepEqual(one.added, ['Set-Cookie: service.session_token=longer']);
  });

  it('judges the site only of what changes something, after who is calling', () => {
    const cross = { 'sec-fetch-site': 'cross-site' };
    assert.equal(call({ cookie: 'good', ...cross }), 'fine');
    assert.equal(call({ cookie: 'good', ...cross }, true), 'CROSS_SITE');
    assert.equal(call(cross, true), 'UNAUTHENTICATED');
  });
});

describe('Callers.bearer()', () => {
  it('takes the token alone, and challenges', () => {
    const call = (headers: Record<string, string>): ServiceError => {
      try {
        callers().bearer(request(headers), 'resource_metadata="https://x/y"');
      } catch (error) {
        if (error instanceof ServiceError) return error;
      }
      throw new Error('no error');
    };
    assert.deepEqual(callers().bearer(request({ authorization: 'Bearer good' })), token);
    const none = call({ cookie: 'good' });
    assert.equal(none.code, 'UNAUTHENTICATED');
    assert.deepEqual(none.headers, {
      'WWW-Authenticate': 'Bearer resource_metadata="https://x/y"',
    });
    assert.deepEqual(call({ authorization: 'Bearer bad' }).headers, {
      'WWW-Authenticate': 'Bearer error="invalid_token", resource_metadata="https://x/y"',
    });
    assert.equal(call({ authorization: 'Bearer good, Bearer good' }).code, 'UNAUTHENTICATED');
    assert.equal(call({ authorization: 'Basic good' }).code, 'UNAUTHENTICATED');
  });

  it('answers 429 for failures above the limit, never for none or for a good token', () => {
    const failures = new RateLimit({ burst: 2, windowMs: 60_000, clock: new ManualClock() });
    const all = callers({}, failures);
    const call = (headers: Record<string, string>): ErrorCode | 'fine' =>
      code(() => all.bearer(request(headers)));
    for (let i = 0; i < 5; i++) assert.equal(call({}), 'UNAUTHENTICATED');
    assert.equal(call({ authorization: 'Bearer bad' }), 'UNAUTHENTICATED');
    assert.equal(call({ authorization: 'Bearer bad' }), 'UNAUTHENTICATED');
    assert.equal(call({ authorization: 'Bearer bad' }), 'RATE_LIMITED');
    assert.equal(call({ authorization: 'Bearer good' }), 'fine');
  });
});

describe('Callers.either()', () => {
  const call = (headers: Record<string, string>): string =>
    callers().either(request(headers), { changes: true }).kind;

  it('prefers the token, then the cookie, then nobody', () => {
    assert.equal(call({ authorization: 'Bearer good', cookie: 'good' }), 'token');
    assert.equal(call({ cookie: 'good' }), 'person');
    assert.equal(call({ cookie: 'stale', 'sec-fetch-site': 'cross-site' }), 'anonymous');
    const bad = { authorization: 'Bearer bad', cookie: 'good' };
    assert.equal(
      code(() => call(bad)),
      'UNAUTHENTICATED',
    );
  });

  it('asks no token where it comes from, but every cookie', () => {
    const cross = { 'sec-fetch-site': 'cross-site' };
    assert.equal(call({ authorization: 'Bearer good', ...cross }), 'token');
    assert.equal(
      code(() => call({ cookie: 'good', ...cross })),
      'CROSS_SITE',
    );
  });
});

describe('Callers.refuseCrossSite()', () => {
  const ours = 'https://panel.example.com';
  const call = (
    headers: Record<string, string>,
    publicUrl: Partial<PublicUrl> = {},
  ): ErrorCode | 'fine' =>
    code(() => {
      callers(publicUrl).refuseCrossSite(request(headers));
    });

  it('lets our own pages and what is no browser pass', () => {
    assert.equal(call({}), 'fine');
    assert.equal(call({ 'sec-fetch-site': 'same-origin' }), 'fine');
    assert.equal(call({ 'sec-fetch-site': 'none' }), 'fine');
    assert.equal(call({ origin: ours }), 'fine');
  });

  it('refuses other sites, and every origin it cannot read', () => {
    for (const site of ['cross-site', 'same-site', 'nonsense']) {
      assert.equal(call({ 'sec-fetch-site': site }), 'CROSS_SITE', site);
    }
    for (const origin of [
      'null',
      'https://evil.example',
      'http://panel.example.com',
      'https://panel.example.com:444',
      'https://panel.example.com.evil.example',
      'https://panel.example.com@evil.example',
      `${ours}/`,
      `${ours}, ${ours}`,
      'nonsense',
    ]) {
      assert.equal(call({ origin }), 'CROSS_SITE', origin);
    }
  });

  it('takes the names of this machine as one only where no public URL is set', () => {
    const byDefault = { url: 'http://127.0.0.1:3000', configured: false };
    assert.equal(call({ origin: 'http://localhost:3000' }, byDefault), 'fine');
    assert.equal(call({ origin: 'http://localhost:3001' }, byDefault), 'CROSS_SITE');
    const set = { url: 'http://127.0.0.1:3000', configured: true };
    assert.equal(call({ origin: 'http://localhost:3000' }, set), 'CROSS_SITE');
  });
});
