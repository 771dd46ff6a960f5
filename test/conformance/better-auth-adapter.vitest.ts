/** Runs better-auth's own adapter suites over ours; `better-auth-adapter.test.ts` starts it. */
import {
  authFlowTestSuite,
  caseInsensitiveTestSuite,
  joinsTestSuite,
  normalTestSuite,
  testAdapter,
  transactionsTestSuite,
  uuidTestSuite,
} from '@better-auth/test-utils/adapter';
import { authAdapter } from '../../src/auth/adapter.ts';
import { AccountsFixture } from '../support/accounts-fixture.ts';

const given = new AccountsFixture();

const { execute } = await testAdapter({
  adapter: () => authAdapter({ reader: given.store, actors: given.runtime }),
  runMigrations: () => undefined,
  // Numeric ids are the one thing the adapter says it does not do.
  tests: [
    normalTestSuite(),
    authFlowTestSuite(),
    caseInsensitiveTestSuite(),
    joinsTestSuite(),
    transactionsTestSuite(),
    uuidTestSuite(),
  ],
  onFinish: () => given.close(),
});

execute();
