import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import {
  frontendOf,
  sourcesOf,
} from '../../../../../src/drivers/docker/images/dockerfile-sources.ts';

const imagesOf = (dockerfile: string, given: Record<string, string> = {}): readonly string[] =>
  sourcesOf(dockerfile, given).images;
const urlsOf = (dockerfile: string, given: Record<string, string> = {}): readonly string[] =>
  sourcesOf(dockerfile, given).urls;

describe('sourcesOf()', () => {
  it('names the images that are taken from', () => {
    const dockerfile = `# a remark
      FROM --platform=linux/amd64 node:22 AS build
      RUN echo FROM nothing
      from build as test
      COPY --chown=1 --from=tools:1 /a /b
      ADD --from=busybox:1 /a /b
      RUN --mount=type=bind,from=mounted:1,target=/t --mount=type=cache,target=/c make
      ONBUILD COPY --from=later:1 /a /b`;
    const expected = ['node:22', 'build', 'tools:1', 'busybox:1', 'mounted:1', 'later:1'];
    assert.deepEqual(imagesOf(dockerfile), expected);
  });

  it('reads instructions over several lines, whatever their escape', () => {
    assert.deepEqual(imagesOf('FROM \\\n# between\n\n  a:1\n'), ['a:1']);
    assert.deepEqual(imagesOf('# escape=`\nFROM `\n  b:1\n'), ['b:1']);
    assert.deepEqual(imagesOf('\uFEFFFR\\\r\nOM "d:1"'), ['d:1']);
    assert.deepEqual(imagesOf('FROM'), []);
  });

  it('fills in variables, those that are given first', () => {
    const dockerfile = 'ARG BASE=abc TAG\nFROM ${BASE}:${TAG:-latest}\nFROM $BASE${TAG:+x}';
    assert.deepEqual(imagesOf(dockerfile), ['abc:latest', 'abc']);
    assert.deepEqual(imagesOf(dockerfile, { BASE: 'def', TAG: '1' }), ['def:1', 'defx']);
  });

  it('names what is added from the network', () => {
    const url = 'http://10.0.0.1/x';
    for (const text of [
      `ADD ${url} /x`,
      `add --chown=1 "${url}" ./y /z`,
      `ADD ["${url}", "/y"]`,
      'ADD ["\\u0068ttp:\\/\\/10.0.0.1/x", "/y"]',
      `ARG U=${url}\nADD $U /x`,
      `ENV U ${url}\nADD \${U} /x`,
      `ADD \${NONE:-${url}} /x`,
      `ONBUILD ADD ${url} /x`,
    ])
      assert.deepEqual(urlsOf(`FROM a\n${text}`), [url], text);
    assert.deepEqual(urlsOf('FROM a\nARG U\nADD $U /x', { U: url }), [url]);
    assert.deepEqual(urlsOf('COPY http://d.test /x\nADD ./y /z'), []);
  });

  it('is done soon and stays small, whatever the text', () => {
    const chars = 256 * 1024;
    const doubled = Array.from({ length: 99 }, (_, n) => `ARG A${n + 1}=$A${n}$A${n}\n`).join('');
    const texts = [
      ...['#', ' ', '\n', '"', '[', '$', 'RUN \\\n', 'FROM ', 'ADD ] ', 'ONBUILD '],
      ...['COPY --from=a ', '--mount=,', 'FROM ${a:-', '${a', '# escape='],
    ].map((text) => text.repeat(chars / text.length));
    for (const text of [...texts, `ARG A0=0123456789\n${doubled}ADD ${'$A99'.repeat(50_000)}`]) {
      for (const lead of ['', 'ADD ', 'COPY ', 'FROM a\nRUN \\\n']) {
        const { images, urls } = sourcesOf(lead + text, {});
        const size = [...images, ...urls].join('').length;
        assert.ok(size <= lead.length + text.length + 1024, `${text.slice(0, 20)} ${size}`);
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
