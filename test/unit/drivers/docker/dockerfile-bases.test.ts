import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { basesOf, mayBeId } from '../../../../src/drivers/docker/dockerfile-bases.ts';

describe('basesOf()', () => {
  it('names what is taken from, and no stage of its own', () => {
    const dockerfile = `# a remark
      FROM --platform=linux/amd64 node:22 AS Build
      RUN echo FROM nothing
      from build as test
      COPY --from=build /a /b
      COPY --chown=1 --from=0 /a /b
      COPY --from=7 /a /b
      ADD --from=busybox:1 /a /b
      RUN --mount=type=bind,from=tools:1,target=/t --mount=type=cache,target=/c make
      FROM scratch`;
    assert.deepEqual(basesOf(dockerfile, {}), ['node:22', '7', 'busybox:1', 'tools:1']);
  });

  it('fills in arguments as the builder does, those that are given before all', () => {
    const dockerfile = `ARG BASE=abc TAG
ARG FULL="\${BASE}:\${TAG:-latest}"
FROM $FULL
ARG BASE=not-this
FROM \${BASE:+other}
FROM \${NONE:-$BASE}
FROM \${NONE}x`;
    assert.deepEqual(basesOf(dockerfile, {}), ['abc:latest', 'other', 'abc', 'x']);
    assert.deepEqual(basesOf(dockerfile, { BASE: 'def', TAG: '1' }), [
      'def:1',
      'other',
      'def',
      'x',
    ]);
  });

  it('reads instructions over several lines, whatever their escape', () => {
    assert.deepEqual(basesOf('FROM \\\n# between\n\n  a:1\n', {}), ['a:1']);
    assert.deepEqual(basesOf('# escape=`\nFROM `\n  b:1\nFROM c:\\x\n', {}), ['b:1', 'c:\\x']);
    assert.deepEqual(basesOf('FROM "d:1"', {}), ['d:1']);
    assert.deepEqual(basesOf('ONBUILD COPY --from=e:1 /a /b', {}), ['e:1']);
    assert.deepEqual(basesOf('FROM', {}), []);
  });
});

describe('mayBeId()', () => {
  it('knows what the builder may take for an id', () => {
    for (const id of ['a', 'cafe', 'ABCDEF012345', `sha256:${'0'.repeat(64)}`])
      assert.ok(mayBeId(id));
    for (const name of ['cafe:1', 'library/cafe', 'node', '', 'x']) assert.ok(!mayBeId(name));
  });
});
