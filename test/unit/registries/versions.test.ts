import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { imageName } from '../../../src/registries/image-name.ts';
import {
  engineVersions,
  languageVersions,
  nodeVersions,
  packageVersions,
  sortedTags,
} from '../../../src/registries/versions.ts';
import type { FoundTag } from '../../../src/registries/questions.ts';

const tag = (name: string, pushedAt: string | null = null): FoundTag => ({
  ...{ tag: name, digest: null, pushedAt, sizeBytes: null },
});

describe('versions', () => {
  it('of an engine are its own that the registry has, newest first, with the newest tag of each', () => {
    // prettier-ignore
    const tags = [
      'latest', 'alpine', '9.6-alpine', '18-alpine', '18.4-alpine', '18.10-alpine', '18.4', '18rc1-alpine', '18.4-alpine3.22',
      '17-alpine', '16.1', '19-alpine', '180-alpine',
    ].map((name) => tag(name));
    const engine = {
      product: 'postgres',
      versions: ['17', '18', '16'],
      tagOf: (version: string) => `${version}-alpine`,
    };
    assert.deepEqual(engineVersions(tags, engine), [
      { version: '18', tag: '18.10-alpine', lts: false, endOfLife: '2030-11-14' },
      { version: '17', tag: '17-alpine', lts: false, endOfLife: '2029-11-08' },
    ]);
  });

  it('of a language are its series by numbers alone', () => {
    const tags = ['latest', '3', '3.9', '3.14.2', '3.14', '3.9.20', '3.15.0a1', '3.14-slim'];
    assert.deepEqual(
      languageVersions(
        tags.map((name) => tag(name)),
        'python',
      ).map((one) => [one.version, one.tag]),
      [
        ['3.14', '3.14.2'],
        ['3.9', '3.9.20'],
      ],
    );
  });

  it('of Node are its majors, with long-term support where any release of it has', () => {
    const releases = [
      { version: '25.1.0', lts: false },
      { version: '22.1.0', lts: false },
      { version: '22.20.0', lts: true },
      { version: '22.9.0', lts: true },
    ];
    assert.deepEqual(nodeVersions(releases), [
      { version: '25', tag: '25.1.0', lts: false, endOfLife: '2026-06-01' },
      { version: '22', tag: '22.20.0', lts: true, endOfLife: '2027-04-30' },
    ]);
  });

  it('of a package are its majors', () => {
    assert.deepEqual(
      packageVersions(['9.1.0', '10.2.0', '9.15.0'], 'pnpm').map(({ tag: newest }) => newest),
      ['10.2.0', '9.15.0'],
    );
  });

  it('stand by the time of their push, then by their numbers', () => {
    const tags = [
      tag('1.9'),
      tag('1.10'),
      tag('old', '2025-01-01T00:00:00.000Z'),
      tag('new', '2026-01-01T00:00:00.000Z'),
    ];
    assert.deepEqual(
      sortedTags(tags).map((one) => one.tag),
      ['new', 'old', '1.10', '1.9'],
    );
  });
});

describe('imageName()', () => {
  it('reads what Docker reads', () => {
    const read = (text: string): unknown => {
      const image = imageName(text);
      return image && [image.registry, image.repository, image.tag];
    };
    assert.deepEqual(read('postgres'), [null, 'library/postgres', null]);
    assert.deepEqual(read('docker.io/me/app:v1'), [null, 'me/app', 'v1']);
    assert.deepEqual(read(`Ghcr.IO/me/app@sha256:${'0'.repeat(64)}`), ['ghcr.io', 'me/app', null]);
    assert.deepEqual(read('localhost:5000/app:x'), ['localhost:5000', 'app', 'x']);
    for (const text of [
      '',
      'UPPER',
      'a//b',
      '../a',
      'a b',
      'a:',
      'x.y/',
      'me@x.y/app?',
      'u:p@h.test/a',
      '-a.b/c',
      'a'.repeat(256),
    ])
      assert.equal(read(text), null, text);
  });
});
