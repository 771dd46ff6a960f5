import assert from 'node:assert/strict';
import { it } from 'node:test';

import { reasonAgainstIsolation } from '../../../../src/drivers/process/isolating.ts';

it('reasonAgainstIsolation() says why nothing is kept apart but as root on Linux', () => {
  assert.equal(reasonAgainstIsolation('linux', 0), null);
  assert.match(reasonAgainstIsolation('linux', 1000) ?? '', /does not run as root/);
  assert.match(reasonAgainstIsolation('linux', 0, false) ?? '', /may not run programs as other/);
  assert.match(reasonAgainstIsolation('darwin', 0) ?? '', /no Linux/);
});
