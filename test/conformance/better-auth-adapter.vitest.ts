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
import { authAdapter } from '../../src/auth/sign-in/better-auth-adapter.ts';
import { openAccounts } from '../support/stored-accounts.ts';

const given = await openAccounts();

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
