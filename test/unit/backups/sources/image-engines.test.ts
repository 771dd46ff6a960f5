import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';

import { databaseSource } from '../../../../src/backups/sources/database-sources.ts';
import type { DatabaseTarget } from '../../../../src/backups/targets.ts';
import type { PipeSpec } from '../../../../src/protocol/workload.ts';
import type { DatabaseEngine } from '../../../../src/store/records/records.ts';
import { collected } from '../../../support/database-server.ts';
import { temporaryFolder } from '../../../support/store-fixture.ts';

const password = `p"a's$s\\w`;
const adminPassword = 'admin-secret';
const none = (): Promise<never> => Promise.reject(new Error('not here'));

/** What runs in the container of an engine, which says this and ends so. */
function imageTarget(
  engine: DatabaseEngine,
  { output = 'bytes', exitCode = 0, complaint = '' },
): DatabaseTarget & { ran: PipeSpec[] } {
  const ran: PipeSpec[] = [];
  async function* said(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(output);
    await Promise.resolve();
  }
  return {
    ...{ engine, version: '8', databaseName: 'shop', username: 'ann', password, adminPassword },
    ...{ host: '172.18.0.2', port: 1000, socket: null, ownPort: 2000, tools: null, files: null },
    ...{ server: null, volumes: null, beside: null },
    ...{ folder: null, readFolder: null, elsewhere: null, connect: null },
    control: { stop: none, start: none, replaced: none },
    ran,
    pipe: (spec) => {
      ran.push(spec);
      const ended = Promise.resolve({ exitCode, complaint });
      return Promise.resolve({ output: said(), ended });
    },
  };
}

const never = new AbortController().signal;
const engines: [DatabaseEngine, kind: string, ending: string, program: RegExp][] = [
  ['POSTGRES', 'postgresql', 'dump', /^pg_dump$/],
  ['MARIADB', 'mariadb', 'sql', /^mariadb-dump$/],
  ['MYSQL', 'mysql', 'sql', /^mysqldump$/],
  ['MONGODB', 'mongodb', 'archive', /mongodump/],
  ['CLICKHOUSE', 'clickhouse', 'tar', /clickhouse-client/],
];

describe('databaseSource() of an image', () => {
  for (const [engine, kind, ending, program] of engines) {
    it(`runs the client of ${engine} in its container, and tells its bytes`, async () => {
      const target = imageTarget(engine, {});
      const source = await databaseSource(target);
      assert.deepEqual([source.kind, source.ending], [kind, ending]);
      assert.equal((await collected(source.read(never))).toString(), 'bytes');
      const [spec] = target.ran;
      assert.ok(spec);
      assert.ok(spec.command.some((word) => program.test(word)));
      assert.ok(
        spec.command.some((word) => word.includes('2000')) || spec.env['PGPORT'] === '2000',
      );
      for (const secret of [password, adminPassword]) {
        assert.ok(!spec.command.join('\0').includes(secret), 'no argument holds a password');
      }
    });

    it(`fails at the end of a dump of ${engine} that failed, without a password`, async () => {
      const complaint = `first\nno way in with ${password} or ${adminPassword}\u0007\n\n`;
      const source = await databaseSource(imageTarget(engine, { exitCode: 2, complaint }));
      await assert.rejects(collected(source.read(never)), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'DUMP_FAILED');
        assert.match(error.message, /It said: no way in with •+ or •+$/);
        return true;
      });
    });
  }

  it('removes what an earlier backup of CLICKHOUSE left, which was killed', async (t) => {
    const target = imageTarget('CLICKHOUSE', {});
    await collected((await databaseSource(target)).read(never));
    const [shell = '', flag = '', script = '', statement = '', file = '', port = ''] =
      target.ran[0]?.command ?? [];
    const folder = await temporaryFolder(t);
    const own = join(folder, basename(file));
    const program = join(folder, 'clickhouse-client');
    writeFileSync(program, `#!/bin/sh\nprintf whole > '${own}'\n`, { mode: 0o755 });
    for (const name of ['gangway-earlier.tar', 'of-somebody.tar']) {
      writeFileSync(join(folder, name), 'half');
    }
    const output = execFileSync(shell, [flag, script, statement, own, port], {
      env: { PATH: `${folder}:${process.env['PATH'] ?? ''}` },
    });
    assert.equal(output.toString(), 'whole');
    assert.deepEqual(readdirSync(folder).sort(), ['clickhouse-client', 'of-somebody.tar']);
  });
});
