import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { frontendOf, mayBeId, takingsOf } from '../../../../src/drivers/docker/dockerfile-bases.ts';

const basesOf = (dockerfile: string, given: Record<string, string> = {}): readonly string[] =>
  takingsOf(dockerfile, given).bases;

describe('takingsOf()', () => {
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
    assert.deepEqual(basesOf(dockerfile), ['node:22', '7', 'busybox:1', 'tools:1']);
  });

  it('fills in arguments as the builder does, those that are given before all', () => {
    const dockerfile = `ARG BASE=abc TAG
ARG FULL="\${BASE}:\${TAG:-latest}"
FROM $FULL
ARG BASE=not-this
FROM \${BASE:+other}
FROM \${NONE:-$BASE}
FROM \${NONE}x`;
    assert.deepEqual(basesOf(dockerfile), ['abc:', 'abc:latest', 'other', 'abc', 'x']);
    const given = { BASE: 'def', TAG: '1', NONE: 'not declared' };
    assert.deepEqual(basesOf(dockerfile, given), ['def:1', 'other', 'def', 'x']);
  });

  it('reads instructions over several lines, whatever their escape', () => {
    assert.deepEqual(basesOf('FROM \\\n# between\n\n  a:1\n'), ['a:1']);
    assert.deepEqual(basesOf('# escape=`\nFROM `\n  b:1\n'), ['b:1']);
    assert.deepEqual(basesOf('FROM "d:1"'), ['d:1']);
    assert.deepEqual(basesOf('ONBUILD COPY --from=e:1 /a /b'), ['e:1']);
    assert.deepEqual(basesOf('FROM'), []);
    assert.deepEqual(basesOf('FR\\\nOM f:1'), ['f:1']);
  });

  const hidden: [title: string, dockerfile: string][] = [
    ['an escape within the name', 'FROM vic\\tim'],
    ['quotes within the name', `FROM vi"c"'tim'`],
    ['an escape within a flag', 'COPY --fr\\om=vic\\tim / /'],
    ['quotes within a flag', `COPY --fr"om=vic"tim / /`],
    ['blanks within a flag', `RUN --mount='type=bind,target=/a b,from=victim' true`],
    ['a flag that is set twice', 'FROM a AS a1\nRUN --mount=from=a1,from=victim,target=/x true'],
    ['a quoted field', `RUN --mount='type=bind,"from=victim"' true`],
    ['the case of a field', 'RUN --mount=FROM=victim true'],
    ['an argument of several quotes', 'ARG X="vic"tim\nFROM $X'],
    ['an argument that is put together', `ARG A=vic\nARG B='tim'\nFROM \${A}$B`],
    ['what the builder sets by itself', 'FROM ${TARGETOS:+victim}'],
    ['what the builder sets for arguments', 'ARG TARGETOS\nFROM ${TARGETOS:+victim}'],
    ['an escape that is none', 'RUN true \\\u00a0\nFROM victim'],
    ['a remark that sets no escape', '# a remark\n# escape=`\nRUN true `\nFROM victim'],
    ['an escape by a directive', '# escape=`\nFROM a\nRUN true \\\nFROM victim'],
    ['white space of other languages', 'FROM a\n\u0085FROM victim'],
    ['a letter of other languages', 'ONBU\u0130LD COPY --from=victim / /'],
    ['the end of a here-document', `RUN <<'E\\'\ntrue\nE\\\nFROM victim`],
    ['the end of a here-document, cut', `RUN <<'E\\'\ntrue\nE\\\nFR\\\nOM victim`],
    ['many blanks', `${' '.repeat(5000)}FROM victim`],
    ['a mark of the byte order', '\uFEFFFROM victim'],
  ];
  for (const [title, dockerfile] of hidden) {
    it(`sees an image behind ${title}`, () => {
      assert.ok(basesOf(dockerfile).includes('victim'), JSON.stringify(basesOf(dockerfile)));
    });
  }

  it('takes no lines of scripts for instructions', () => {
    const dockerfile = `FROM python:3
      RUN python3 <<EOF
from abc import ABC
from cafe import (x, y)
EOF
      RUN echo \\
        run this && \\
        add that`;
    assert.deepEqual(basesOf(dockerfile), ['python:3']);
  });

  it('refuses what it does not understand', () => {
    for (const from of [
      '${A%x}',
      '${A/x/y}',
      '"a',
      '$(x)',
      'a;b',
      '${A',
      '$A'.repeat(99) + '${A:-b}'.repeat(9),
    ])
      assert.throws(() => basesOf(`FROM ${from}`), { code: 'IMAGE_BUILD_FAILED' }, from);
  });

  it('names what is added from the network', () => {
    const dockerfile = `ARG HOST=127.0.0.1
ADD http://localhost:1/x ./y /z/
ADD --chown=1 ["https://a.test/x", "HTTP://b.test/y", "/z"]
ADD "http://$HOST/x" git@c.test:x/y.git /z
COPY http://d.test /x`;
    assert.deepEqual(takingsOf(dockerfile, {}).urls, [
      'http://localhost:1/x',
      'https://a.test/x',
      'HTTP://b.test/y',
      'http://127.0.0.1/x',
    ]);
  });

  it('is done soon, whatever the text', () => {
    const texts = [
      '#'.repeat(1e6),
      ' '.repeat(1e6) + 'x',
      'RUN \\\n'.repeat(1e5),
      'FROM '.repeat(2e5),
    ];
    texts.push(
      '`escape ' + '#'.repeat(1e6),
      'ARG ' + '"'.repeat(1e6),
      'COPY ' + '--from=a '.repeat(1e5),
    );
    texts.push('ADD ' + '] '.repeat(5e5), 'FROM ' + '${a:-'.repeat(200_000), '\n'.repeat(1e6));
    for (const text of texts) {
      try {
        takingsOf(text, {});
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'IMAGE_BUILD_FAILED');
      }
    }
  });
});

describe('frontendOf()', () => {
  it('names the image that a file wants to be read by', () => {
    assert.equal(frontendOf('# syntax=docker/dockerfile:1\nFROM a'), 'docker/dockerfile:1');
    assert.equal(frontendOf('\n# a remark\n#Syntax = a/b:c \nFROM a'), 'a/b:c');
    assert.equal(frontendOf('#!/x\n// syntax=a'), 'a');
    assert.equal(frontendOf('{"syntax": "a"}'), 'JSON');
    assert.equal(frontendOf('FROM a\n# syntax=b'), null);
    assert.equal(frontendOf(''), null);
  });
});

describe('mayBeId()', () => {
  it('knows what the builder may take for an id', () => {
    for (const id of ['a', 'cafe', 'ABCDEF012345', `sha256:${'0'.repeat(64)}`])
      assert.ok(mayBeId(id));
    for (const name of ['cafe:1', 'library/cafe', 'node', '', 'x']) assert.ok(!mayBeId(name));
  });
});
