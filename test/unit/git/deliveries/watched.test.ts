import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { touches } from '../../../../src/git/deliveries/watched.ts';

describe('touches()', () => {
  it('is true for a file, and for all below a folder', () => {
    const watched = ['apps/web', 'package.json'];
    assert.ok(touches(['readme', 'apps/web/src/a.ts'], watched));
    assert.ok(touches(['package.json'], watched));
    for (const file of ['apps/website/a', 'apps', 'web/package.json', 'package.json.orig']) {
      assert.ok(!touches([file], watched), file);
    }
    assert.ok(!touches([], watched));
  });

  it('is true where nobody says, and where everything is watched', () => {
    assert.ok(touches(null, ['apps/web']));
    assert.ok(touches(['readme'], []));
  });
});
