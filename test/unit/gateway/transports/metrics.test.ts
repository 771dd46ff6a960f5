import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Authenticator } from '../../../../src/auth/callers/authenticator.ts';
import { anonymous } from '../../../../src/auth/callers/principal.ts';
import { Callers } from '../../../../src/gateway/credentials.ts';
import {
  metricsRoute,
  type MetricsRouteOptions,
} from '../../../../src/gateway/transports/metrics.ts';
import { ServiceError } from '../../../../src/lib/errors.ts';
import { startGateway } from '../../../support/gateway.ts';
import { plainRequest } from '../../../support/plain-request.ts';

const token = 'figures-of-this-instance';
const byCookie = { ann: 'usr_ann', bob: 'usr_bob' } as const;

const authenticator: Authenticator = {
  byCookie({ cookieHeader }) {
    const userId = byCookie[cookieHeader as keyof typeof byCookie] as string | undefined;
    if (userId === undefined) return anonymous;
    return { kind: 'person', userId, sessionId: 'ses_1', teamId: null };
  },
  byToken() {
    throw new ServiceError('UNAUTHENTICATED', 'No such token.');
  },
  stillValid: () => true,
};

const defaults: Omit<MetricsRouteOptions, 'callers' | 'metrics'> = {
  access: 'admin',
  token: null,
  networks: [],
  publicUrl: () => 'https://panel.example.com',
  authorizeAdmin(principal) {
    if (principal.kind === 'anonymous') throw new ServiceError('UNAUTHENTICATED', 'Sign in.');
    if (principal.userId !== 'usr_ann') throw new ServiceError('FORBIDDEN', 'Not yours.');
  },
};

type Settings = Partial<Pick<MetricsRouteOptions, 'access' | 'token' | 'networks'>>;
type Headers = Record<string, string>;

/** The tests speak from 127.0.0.1, as apps of the same machine do. */
const cases: [title: string, Settings, Headers, status: number][] = [
  ['refuses whoever is only on this machine', {}, {}, 401],
  ['refuses a cookie that is nobody', {}, { cookie: 'eve' }, 401],
  ['refuses a person who does not administer', {}, { cookie: 'bob' }, 403],
  ['lets the administrator read', {}, { cookie: 'ann' }, 200],
  ['lets the token read', { token }, { authorization: `Bearer ${token}` }, 200],
  ['takes the scheme in any case', { token }, { authorization: `bearer  ${token}` }, 200],
  ['refuses another token', { token }, { authorization: `Bearer ${token}x` }, 401],
  ['refuses the token without its scheme', { token }, { authorization: token }, 401],
  ['refuses any token where none is set', {}, { authorization: `Bearer ${token}` }, 401],
  ['lets a network read', { networks: ['127.0.0.0/8'] }, {}, 200],
  ['refuses another network', { networks: ['10.0.0.0/8', '::1'] }, {}, 401],
  [
    'refuses whom an unknown proxy of the network passes on',
    { networks: ['127.0.0.1'] },
    { 'x-forwarded-for': '203.0.113.9' },
    401,
  ],
  [
    'lets a network read under the public host',
    { networks: ['127.0.0.0/8'] },
    { host: 'panel.example.com' },
    200,
  ],
  [
    'refuses a network under a Host that does not name us',
    { networks: ['127.0.0.0/8'] },
    { host: 'rebound.example' },
    401,
  ],
  ['lets everybody read when told so', { access: 'all' }, {}, 200],
  ['shows nothing when off', { access: 'off', token }, { authorization: `Bearer ${token}` }, 404],
  ['shows the administrator nothing when off', { access: 'off' }, { cookie: 'ann' }, 404],
];

describe('GET /metrics', () => {
  for (const [title, settings, headers, status] of cases) {
    it(title, async (t) => {
      const callers = new Callers({
        authenticator,
        publicUrl: () => ({ url: 'https://panel.example.com', configured: true }),
      });
      const metrics = { text: () => Promise.resolve('figures 1\n') };
      const route = metricsRoute({ ...defaults, ...settings, metrics, callers });
      const gateway = await startGateway([route], { publicUrl: defaults.publicUrl });
      t.after(() => gateway.close());
      const answer = await plainRequest({ port: gateway.port, path: '/metrics', headers });
      assert.equal(answer.status, status);
      assert.equal(answer.text.includes('figures'), status === 200);
    });
  }
});
