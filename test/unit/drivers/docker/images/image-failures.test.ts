import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { buildFailure } from '../../../../../src/drivers/docker/images/image-failures.ts';

const none: ReadonlySet<string> = new Set();

describe('buildFailure()', () => {
  it('takes no word of a step for a word of the daemon', () => {
    const command = 'echo context canceled; pull access denied for x; shutting down; false';
    for (const words of [
      `The command '/bin/sh -c ${command}' returned a non-zero code: 1`,
      `executor failed running [/bin/sh -c ${command}]: exit code: 1`,
      `process "/bin/sh -c ${command}" did not complete successfully: exit code: 1`,
      `The command '/bin/sh -ec ${command}\nrm -rf "$HOME/.npm"' returned a non-zero code: 1`,
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
    const step = `The command '${'x'.repeat(100_000)}' returned a non-zero code: 7`;
    assert.match(
      buildFailure(step, none).message,
      /^The build failed: x{200} … ended with exit code 7\.$/,
    );
  });
});
