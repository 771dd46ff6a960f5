import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import {
  checkBuildRules,
  checkedArgs,
  checkRegistry,
} from '../../../../../src/drivers/docker/images/build-rules.ts';
import { Names } from '../../../../../src/drivers/docker/engine/names.ts';

const names = new Names('0123456789abcdef');
const check = (dockerfile: string, given: Record<string, string> = {}): void => {
  checkBuildRules(dockerfile, given, names);
};

describe('checkBuildRules()', () => {
  it('lets be what is of registries and of the network', () => {
    check(
      '# syntax=docker/dockerfile:1.7\nFROM node:22\nADD https://example.org/x http://93.184.215.14/y /z/',
    );
    check('FROM registry.test:5000/gangway-tools/x:1\nCOPY --from=gangway-tools:1 /a /b');
    check('# syntax=docker.io/docker/dockerfile@sha256:0\nFROM a-b');
  });

  it('refuses images of apps, by every name a daemon has for them', () => {
    const image = 'gangway-0123456789abcdef:app_b.dpl_b';
    for (const from of [
      image,
      `docker.io/${image}`,
      `index.docker.io/library/${image}`,
      `library/${image}`,
    ])
      assert.throws(
        () => {
          check(`FROM ${from}`);
        },
        { code: 'IMAGE_NOT_FOUND' },
        from,
      );
    // Of another Gangway on the same daemon.
    assert.throws(
      () => {
        check('FROM x AS y\nCOPY --from=gangway-fedcba9876543210:a.b / /');
      },
      {
        code: 'IMAGE_NOT_FOUND',
        message: /starts from gangway-fedcba9876543210:a\.b/,
      },
    );
    assert.throws(
      () => {
        check('ARG B\nFROM $B', { B: image });
      },
      { code: 'IMAGE_NOT_FOUND' },
    );
  });

  it('refuses to fetch what is in the network of the machine', () => {
    const hosts = [
      '127.0.0.1:8080',
      'localhost',
      'a.localhost',
      '[::1]',
      '2130706433',
      '0x7f.1',
      '10.0.0.1',
      '169.254.169.254',
      '[::ffff:127.0.0.1]',
      'user@127.0.0.1',
      '0',
    ];
    for (const host of hosts) {
      assert.throws(
        () => {
          check(`FROM node:22\nADD http://${host}/x /y`);
        },
        { code: 'IMAGE_BUILD_FAILED', message: /own network/ },
        host,
      );
    }
    assert.throws(
      () => {
        check('FROM node:22\nADD git://127.0.0.1/x /y');
      },
      { code: 'IMAGE_BUILD_FAILED' },
    );
  });

  it('refuses registries where clouds keep their secrets, and no other address', () => {
    for (const host of ['169.254.169.254', '169.254.169.254:80', '0xa9fea9fe:80']) {
      const reference = `${host}/latest/meta-data:1`;
      assert.throws(
        () => {
          checkRegistry(reference);
        },
        { code: 'REGISTRY_REFUSED' },
        host,
      );
      assert.throws(
        () => {
          check(`FROM ${reference}`);
        },
        { code: 'REGISTRY_REFUSED' },
        host,
      );
    }
    for (const host of [
      '127.0.0.1:5000',
      '10.0.0.1',
      'localhost:5000',
      'registry.test',
      'library',
    ]) {
      checkRegistry(`${host}/x:1`);
    }
  });

  it('refuses another reader', () => {
    for (const syntax of [
      'evil/frontend',
      'docker/dockerfile.evil',
      'gangway-0123456789abcdef:app_b.dpl_b',
    ])
      assert.throws(
        () => {
          check(`# syntax=${syntax}\nFROM node:22`);
        },
        { code: 'IMAGE_BUILD_FAILED' },
      );
  });
});

describe('the arguments of a build', () => {
  it('steer no builder, and keep what BuildKit caches with its app', () => {
    const buildArgs = { A: '1', BUILDKIT_SYNTAX: 'evil', BUILDKIT_CACHE_MOUNT_NS: 'app_b' };
    assert.deepEqual(checkedArgs({ owner: 'app_a', buildArgs }), {
      A: '1',
      BUILDKIT_CACHE_MOUNT_NS: 'app_a',
    });
  });
});
