import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { buildFailure } from '../../../../../src/drivers/docker/images/image-failures.ts';

const none: ReadonlySet<string> = new Set();

describe('buildFailure()', () => {
  it('takes no word of a step for a word of the daemon', () => {
    const command = 'echo context canceled; pull access denied for x; shutting down; false';
    for (const words of [
      `executor failed running [/bin/sh -c ${command}]: exit code: 1`,
      `process "/bin/sh -c ${command}" did not complete successfully: exit code: 1`,
      `process "/bin/sh -ec ${command}\nrm -rf" did not complete successfully: exit code: 1`,
    ]) {
      const { code, message } = buildFailure(words, none);
      assert.equal(code, 'IMAGE_BUILD_FAILED');
      assert.equal(message, `The build failed: ${command} ended with exit code 1.`);
    }
    assert.equal(buildFailure('context canceled', none).code, 'AGENT_UNREACHABLE');
    assert.equal(
      buildFailure('pull access denied for a/b, repository does not exist', none).code,
      'IMAGE_NOT_FOUND',
    );
  });

  it('is short and done soon, however long the words', () => {
    const words = `failed: ${'manifest for '.repeat(100_000)}`;
    assert.ok(buildFailure(words, none).message.length < 600);
    const step = `process "${'x'.repeat(100_000)}" did not complete successfully: exit code: 7`;
    assert.match(
      buildFailure(step, none).message,
      /^The build failed: x{200} … ended with exit code 7\.$/,
    );
  });
});
