import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkArtifact } from '../../../../src/backups/restores/artifact-check.ts';
import type { SourceKind } from '../../../../src/backups/restores/artifact-kind.ts';
import { tarEnd } from '../../../../src/backups/tar/tar-header.ts';
import { textEntry } from '../../../../src/backups/tar/tar-tree.ts';
import { artifactFile } from '../../../../src/store/files/snapshot.ts';
import { pieces } from '../../../support/database-server.ts';

const tar = (name: string, text: string): Buffer =>
  Buffer.concat([...textEntry(name, text), tarEnd]);
const settings = {
  source: 'UPLOAD',
  build: {
    ...{ buildCommand: null, startCommand: null, dockerfile: null, outputDir: null },
    ...{ nodeVersion: null, port: null, healthPath: null },
  },
  resources: { memoryMb: null, cpus: null, pids: null, replicas: 1 },
  ...{ git: null, image: null, compose: null, previewBranches: [], autoDeploy: true },
};
const app = (json: object): Buffer => tar('app.json', JSON.stringify(json));
const whole = { version: 1, settings, env: [] };

/** Of each kind, in each form that it has. */
const artifacts: readonly (readonly [SourceKind, Buffer])[] = [
  ['app', app(whole)],
  ['postgresql', Buffer.from('PGDMP\u0001\u000e')],
  ['postgresql', tar('PG_VERSION', '15\n')],
  ['mysql', Buffer.from('-- MySQL dump 10.13  Distrib 8.4.0, for Linux (x86_64)\n')],
  ['mariadb', Buffer.from('/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19\n')],
  ['mariadb', Buffer.from('-- MySQL dump 10.19  Distrib 10.5.8-MariaDB, for Linux\n')],
  ['mongodb', Buffer.from('6de29981000000', 'hex')],
  ['redis', Buffer.from('REDIS0011')],
  ['clickhouse', tar('.backup', '<config/>')],
  ['clickhouse', Buffer.from('PK\u0003\u0004')],
];
const sources = [...new Set(artifacts.map(([source]) => source))];
const check = (bytes: Buffer, source: SourceKind, bytesMax = Infinity) =>
  checkArtifact(pieces(bytes, 100), { source, bytesMax });

describe('the check of an artifact', () => {
  it('lets each kind into its own engine, and into no other', async () => {
    for (const [of, bytes] of artifacts) {
      for (const source of sources) {
        const checking = check(bytes, source);
        if (of === source) assert.equal((await checking).kind.source, of);
        else await assert.rejects(checking, { code: 'ARTIFACT_UNFIT', message: /is a backup of/ });
      }
    }
  });

  it('lets no backup of an instance and nothing unknown in anywhere', async () => {
    for (const source of sources) {
      const instance = check(tar(artifactFile, '{"version":1}'), source);
      await assert.rejects(instance, { code: 'ARTIFACT_UNFIT', message: /gangway restore/ });
      for (const text of ['\\! touch /tmp/sign\n', 'SELECT 1;\n', '#!/bin/sh\n', '']) {
        const unknown = check(Buffer.from(text), source);
        await assert.rejects(unknown, {
          code: 'ARTIFACT_UNFIT',
          message: /no backup that is known/,
        });
      }
    }
  });

  it('reads no further than there may be bytes', async () => {
    let read = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (; ; read += 1024) yield await Promise.resolve(Buffer.alloc(1024, 'PGDMP'));
    }
    const wanted = { source: 'postgresql', bytesMax: 10_000 } as const;
    await assert.rejects(checkArtifact(endless(), wanted), { code: 'STORAGE_FULL' });
    assert.ok(read < 12_000, String(read));
    const { length } = app(whole);
    assert.equal((await check(app(whole), 'app', length)).bytes, length);
    await assert.rejects(check(app(whole), 'app', length - 1), { code: 'STORAGE_FULL' });
  });

  it('takes no app.json of other types or measures', async () => {
    const variable = { key: 'A', value: 'a', isSecret: false, targets: [] };
    for (const json of [
      [],
      { ...whole, version: 2 },
      { ...whole, settings: null },
      { ...whole, settings: { ...settings, autoDeploy: 'yes' } },
      { ...whole, settings: { ...settings, previewBranches: { length: 1e9 } } },
      { ...whole, settings: { ...settings, build: { ...settings.build, port: '80' } } },
      { ...whole, settings: { ...settings, source: 'INSTANCE' } },
      { ...whole, env: { A: 'a' } },
      { ...whole, env: [{ ...variable, value: { toString: 'a' } }] },
      { ...whole, env: [{ ...variable, targets: ['everywhere'] }] },
      { ...whole, env: Array.from({ length: 501 }, () => variable) },
      { ...whole, env: [{ ...variable, value: 'x'.repeat(2 ** 20) }] },
    ]) {
      await assert.rejects(check(app(json), 'app'), { code: 'ARTIFACT_UNFIT' });
    }
    const deep = tar('app.json', '['.repeat(500_000));
    await assert.rejects(check(deep, 'app'), { code: 'ARTIFACT_UNFIT' });
  });

  it('keeps nothing of an app.json but what it knows', async () => {
    const text = JSON.stringify(whole).replace(
      '"settings":{',
      '"__proto__":{"admin":true},"constructor":{},"settings":{"__proto__":{"autoDeploy":false},"slug":"bank",',
    );
    const { appJson } = await check(tar('app.json', text), 'app');
    assert.deepEqual(appJson, whole);
    assert.equal(Object.getPrototypeOf(appJson), Object.prototype);
    assert.equal('admin' in {}, false);
  });
});
