/**
 * Owns what vitest runs: better-auth's own suite for database adapters, which is written for it.
 * All other tests are run by `node --test`.
 */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/conformance/better-auth-adapter.vitest.ts'],
    fileParallelism: false,
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
