import assert from 'node:assert/strict';
import { it } from 'node:test';

import { openLimits } from '../../../../../src/programs/runner/limits/limits.ts';
import { memoryLogger } from '../../../../support/memory-logger.ts';

it('openLimits() says what it cannot enforce where there are no control groups', () => {
  const logger = memoryLogger();
  const host = { mountinfo: '', selfCgroup: '0::/\n', isRoot: false };
  const { kind, missing } = openLimits('none', logger, host);
  assert.ok(missing.includes('cpus'));
  assert.deepEqual(logger.events, [
    { level: 'warn', event: 'limits_not_enforced', fields: { kind, missing } },
  ]);
});
