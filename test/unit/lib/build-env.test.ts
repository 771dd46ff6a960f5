import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildEnvOf } from '../../../src/lib/build-env.ts';

describe('buildEnvOf()', () => {
  it('keeps what builds need of the host and nothing else', () => {
    const env = {
      HTTPS_PROXY: 'http://proxy',
      SECRET: 'x',
      PATH: '/bin',
      npm_config_registry: 'r',
    };
    assert.deepEqual(buildEnvOf(env), { HTTPS_PROXY: 'http://proxy', npm_config_registry: 'r' });
  });
});
