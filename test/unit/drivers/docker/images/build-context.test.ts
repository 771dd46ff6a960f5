import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';

import { buildContext } from '../../../../../src/drivers/docker/images/build-context.ts';
import { tempDir } from '../../../../support/runner.ts';

describe('buildContext()', () => {
  it('fails as a stream when .dockerignore takes too long', async () => {
    const contextDir = tempDir();
    try {
      fs.writeFileSync(path.join(contextDir, '.dockerignore'), '**/a/**/b');
      fs.writeFileSync(path.join(contextDir, 'some-file'), '');
      const { stream } = await buildContext({ contextDir, dockerfile: { text: 'FROM a' } }, 5);
      await assert.rejects(stream.toArray(), { code: 'IMAGE_BUILD_FAILED' });
    } finally {
      fs.rmSync(contextDir, { recursive: true });
    }
  });
});
