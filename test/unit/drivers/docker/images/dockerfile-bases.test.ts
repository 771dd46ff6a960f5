import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import {
  frontendOf,
  mayBeId,
  takingsOf,
} from '../../../../../src/drivers/docker/images/dockerfile-bases.ts';

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
      // In a stage that does not declare it.
      'http:///x',
      'http://127.0.0.1/x',
    ]);
  });

  it('sees it behind a doubled escape, which some builders take for none', () => {
    const refused = { code: 'IMAGE_BUILD_FAILED' };
    const last = '${TARGETARCH/amd64/victim:1}';
    for (const end of ['\\\\', '\\\f', '\\\u00a0']) {
      assert.throws(() => basesOf(`FROM a\nRUN true ${end}\nFROM ${last}`), refused, end);
      // And it is no part of an argument.
      const dockerfile = `ARG A=a${end}\nARG B=victim\nFROM $B`;
      assert.ok(basesOf(dockerfile).includes('victim'), end);
    }
    assert.throws(() => basesOf(`FROM a\nRUN <<'E\\'\nE\\\nFROM ${last}`), refused);
  });

  it('takes no image for a stage that a script names', () => {
    const image = 'gangway-x:app.dpl';
    assert.ok(basesOf(`FROM a\nRUN <<E\nFROM a AS ${image}\nE\nFROM ${image}`).includes(image));
    assert.deepEqual(basesOf('FROM a AS b.c-1\nFROM B.C-1'), ['a']);
  });

  it('passes over what is no name of an image for any builder', () => {
    const dockerfile = 'FROM a\nCOPY <<EOF /init.sql\nSELECT count(*)\nFROM users;\nEOF';
    assert.deepEqual(basesOf(dockerfile), ['a']);
  });

  it('knows the stages of the file that takes it in', () => {
    const { stages } = takingsOf('FROM a AS b\nFROM c', {});
    assert.deepEqual(stages, { names: new Set(['b']), count: 2 });
    const triggers = 'COPY --from=0 / /\nCOPY --from=b / /\nCOPY --from=2 / /';
    assert.deepEqual(takingsOf(triggers, {}, stages).bases, ['2']);
  });

  it('names what is added by variables of stages, and in JSON', () => {
    const url = 'http://10.0.0.1';
    const addedBy = (text: string): readonly string[] => takingsOf(`FROM a\n${text}`, {}).urls;
    for (const text of [
      `ARG U=${url}\nADD $U/x /x`,
      `ENV U=${url}\nADD $U/x /x`,
      `ENV U ${url}\nADD \${U}/x /x`,
      `ENV U=x\nFROM b\nADD \${U:-${url}/x} /x`,
      'ADD ["http:\\/\\/10.0.0.1/x", "/y"]',
      'ADD ["\\u0068ttp://10.0.0.1/x", "/y"] and what is nothing',
      'ADD [ "http://10.0.0.1/x" /y',
    ])
      assert.ok(addedBy(text).join().includes(`${url}/x`), text);
    assert.deepEqual(takingsOf('FROM a\nARG U\nADD $U /x', { U: url }).urls, [url]);
    const paths = 'ENV PATH=/a:$PATH\n'.repeat(99);
    const known = 'ADD https://a.test/${V#v} ./${V%x} /x';
    assert.deepEqual(addedBy(paths + known), ['https://a.test/${V#v}']);
    for (const text of ['ADD ${V/x/y} /x', `ENV U=\${V#v}\nADD $U /x`, `${paths}ADD $PATH /x`])
      assert.throws(() => addedBy(text), { code: 'IMAGE_BUILD_FAILED' }, text);
  });

  it('refuses values without end', () => {
    const many = Array.from({ length: 80_000 }, (_, n) => `ARG A=${String(n)}\n`).join('');
    const doubled = 'ABCDEFGHIJKLMN'.replaceAll(/[^A]/g, (name) => {
      const before = String.fromCharCode(name.charCodeAt(0) - 1);
      return `\nARG ${name}=$${before}$${before}`;
    });
    for (const text of [many, `ARG A=0123456789${doubled.slice(1)}`])
      assert.throws(() => basesOf(text), { message: /not understood: ARG/ });
  });

  it('does not walk what is blank again and again', () => {
    const text = `FROM a\nRUN true \\\n${'ADD \\\n'.repeat(2000)}${'\n'.repeat(100_000)}`;
    assert.deepEqual(basesOf(text), ['a']);
    const empty = `FROM a\nRUN true \\\n${'ADD \\\n'.repeat(2000)}${'\\\n'.repeat(100_000)}`;
    assert.throws(() => basesOf(empty), { message: /too long/ });
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
