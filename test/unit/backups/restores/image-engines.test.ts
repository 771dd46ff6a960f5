/** Restorers of engines that run in containers alone, over volumes in memory and clients that are played. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, it } from 'node:test';

import { databaseRestorer } from '../../../../src/backups/restores/database-restorers.ts';
import { recoverVolumes } from '../../../../src/backups/restores/volume-swap.ts';
import type { DatabaseTarget } from '../../../../src/backups/targets.ts';
import type { PipeSpec } from '../../../../src/protocol/workload.ts';
import type { DatabaseEngine } from '../../../../src/store/records/records.ts';
import { collected, pieces } from '../../../support/database-server.ts';
import { MemoryVolumes } from '../../../support/memory-volumes.ts';
import { tempDir } from '../../../support/runner.ts';

const never = new AbortController().signal;
const [password, adminPassword] = [`p"a's$s\\w`, 'admin-secret'];
const engines = [
  ['MONGODB', 'archive'],
  ['CLICKHOUSE', 'backup'],
] as const;
const [live, fresh] = ['db_1-data', 'db_1-restored-rst_1-data'];

describe('a database of an engine that runs in containers alone', () => {
  let volumes: MemoryVolumes;
  let ran: { spec: PipeSpec; input: string }[] = [];
  let besides: string[] = [];
  /** What the server says that it holds then. */
  let held = 'teas\n';
  let end = { exitCode: 0, complaint: '' };

  beforeEach(() => {
    volumes = new MemoryVolumes('db_1', ['data']);
    [ran, besides, end, held] = [[], [], { exitCode: 0, complaint: '' }, 'teas\n'];
  });

  async function* nothing(): AsyncGenerator<Uint8Array> {}
  const targetOf = (engine: DatabaseEngine): DatabaseTarget => ({
    ...{ engine, version: '8', databaseName: 'shop', username: 'ann', password, adminPassword },
    ...{ host: '172.18.0.2', port: 1000, socket: null, ownPort: 2000, tools: null, files: null },
    ...{ server: null, folder: null, readFolder: null, elsewhere: null, connect: null },
    control: volumes.control,
    volumes: volumes.own,
    pipe: () => Promise.reject(new Error('the live server has no part in it')),
    beside: async (volume, work) => {
      besides.push(volume);
      volumes.held.set(volume, Buffer.from('made'));
      await work(async (spec, input) => {
        const bytes = await collected(input ?? nothing());
        ran.push({ spec, input: bytes.toString() });
        const isLook = spec.command[0] === 'mongosh';
        const output = isLook ? pieces(Buffer.from(held)) : nothing();
        return { output, ended: Promise.resolve(end) };
      });
    },
  });
  const restore = (engine: DatabaseEngine, ending: string, text = 'the dump'): Promise<void> => {
    const artifact = { kind: '', ending, isOwn: false, bytes: text.length };
    const restorer = databaseRestorer(targetOf(engine), artifact);
    return restorer.restore(pieces(Buffer.from(text)), () => undefined, never);
  };

  for (const [engine, ending] of engines) {
    it(`${engine} is read into another server, whose volume then takes the place of the live one`, async () => {
      await restore(engine, ending);
      assert.deepEqual(besides, [fresh]);
      assert.deepEqual(volumes.live, { data: fresh });
      assert.deepEqual(volumes.steps, [
        'stop',
        'try',
        'start',
        'replaced',
        'use',
        `remove ${live}`,
      ]);
      assert.deepEqual(volumes.names, [fresh]);
      const [{ spec, input } = { spec: null, input: '' }] = ran;
      assert.equal(input, 'the dump');
      for (const secret of [password, adminPassword]) {
        assert.ok(!spec?.command.join('\0').includes(secret), 'no argument holds a password');
      }
      assert.ok(!JSON.stringify(spec?.env).includes(adminPassword), 'it is no administrator');
    });

    it(`${engine} is not touched by a dump that its client refuses`, async () => {
      end = { exitCode: 1, complaint: `no way in with ${password}\n` };
      await assert.rejects(restore(engine, ending), {
        code: 'RESTORE_FAILED',
        message: /It said: no way in with •+ The data is as it was\.$/,
      });
      assert.deepEqual(volumes.live, { data: live });
      assert.deepEqual(volumes.names, [live]);
      assert.ok(!volumes.steps.includes('stop'));
    });

    it(`${engine} says before anything is touched that its image has no such client`, async () => {
      end = { exitCode: 127, complaint: 'sh: not found\n' };
      await assert.rejects(restore(engine, ending), { code: 'ENGINE_NOT_AVAILABLE' });
      assert.ok(!volumes.steps.includes('stop'));
    });

    it(`${engine} gets its previous volume back when it is not well with the new one`, async () => {
      let starts = 0;
      volumes.onStep = (step) => {
        if (step === 'start' && ++starts === 1) throw new Error('it does not answer');
      };
      await assert.rejects(restore(engine, ending), /The previous data is back\.$/);
      assert.deepEqual(volumes.live, { data: live });
      assert.deepEqual(volumes.names, [live]);
      assert.deepEqual(volumes.steps.slice(0, 6), ['stop', 'try', 'start', 'stop', 'use', 'start']);
    });

    it(`${engine} takes no dump of another kind`, () => {
      assert.throws(() => databaseRestorer(targetOf(engine), { kind: '', ending: 'sql', isOwn: true, bytes: 1 }), { code: 'ARTIFACT_UNFIT' }); // prettier-ignore
    });
  }

  it('MONGODB takes no archive that holds nothing of this database', async () => {
    held = '\n';
    await assert.rejects(restore('MONGODB', 'archive'), { code: 'ARTIFACT_UNFIT' });
    assert.deepEqual(volumes.live, { data: live });
  });

  it('removes first what an earlier restore left', async () => {
    volumes.held.set('db_1-restored-rst_0-data', Buffer.from('left'));
    await restore('MONGODB', 'archive');
    assert.deepEqual(volumes.names, [fresh]);
  });

  it('has the previous volume or the restored one, wherever a crash cuts its restore off', async () => {
    const cuts = ['stop', 'try', 'start', 'replaced', 'use', `remove ${live}`, 'none'];
    const found: string[] = [];
    for (const cut of cuts) {
      volumes = new MemoryVolumes('db_1', ['data']);
      let [isCut, isReplaced] = [false, false];
      volumes.onStep = (step) => {
        if (isCut) throw new Error('nothing is left that could go on');
        // What was asked for last may have been done.
        isReplaced ||= step === 'replaced' && cut !== 'replaced';
        isCut = step === cut;
        if (isCut) throw new Error('cut off');
      };
      await restore('MONGODB', 'archive').catch(() => undefined);
      volumes.onStep = () => undefined;
      const isBack = await recoverVolumes(volumes.own, { control: volumes.control, isReplaced });
      const expected = isReplaced ? fresh : live;
      assert.deepEqual(volumes.live, { data: expected }, cut);
      assert.deepEqual(volumes.names, [expected], cut);
      assert.equal(volumes.before, null);
      found.push(`${cut}: ${isBack ? 'put back' : isReplaced ? 'restored' : 'previous'}`);
      assert.equal(
        await recoverVolumes(volumes.own, { control: volumes.control, isReplaced }),
        false,
      );
    }
    assert.deepEqual(found.slice(0, 4), ['stop: previous', 'try: previous', 'start: put back', 'replaced: put back']); // prettier-ignore
    assert.ok(found.slice(4).every((one) => one.endsWith('restored')));
  });

  /** Runs the command with programs that are played: they write what they are given into a folder. */
  const played = async (engine: DatabaseEngine, ending: string, names: string[]) => {
    await restore(engine, ending);
    const [{ spec } = { spec: null }] = ran;
    const dir = tempDir();
    for (const name of names) {
      const text = `#!/bin/sh\nfor word; do printf '%s\\n' "$word"; case $word in --config=*) cat "\${word#--config=}"; ls -l "\${word#--config=}" >> ${dir}/modes;; esac; done > ${dir}/args\ncat > ${dir}/input\nls ${dir}/backups > ${dir}/seen 2> /dev/null || true\n`;
      fs.writeFileSync(join(dir, name), text, { mode: 0o755 });
    }
    const [program = '', ...args] = (spec?.command ?? []).map((word) =>
      word.replaceAll('/var/lib/clickhouse', dir),
    );
    execFileSync(program, args, {
      input: 'the dump',
      env: { ...spec?.env, PATH: `${dir}:/usr/bin:/bin`, TMPDIR: dir },
    });
    const read = (name: string): string => fs.readFileSync(join(dir, name), 'utf8');
    return { dir, read, end: () => fs.rmSync(dir, { recursive: true }) };
  };

  it('MONGODB is given what mongorestore takes, and its password in a file of its own', async () => {
    const { dir, read, end: over } = await played('MONGODB', 'archive', ['mongorestore']);
    const [config = '', ...words] = read('args').trim().split('\n');
    assert.match(config, /^--config=/);
    // YAML reads a JSON string.
    assert.equal(words.shift(), `password: ${JSON.stringify(password)}`);
    assert.deepEqual(words, [
      ...['--host=127.0.0.1', '--port=2000', '--username=ann', '--authenticationDatabase=shop'],
      ...['--archive', '--quiet', '--nsInclude=shop.*', '--stopOnError'],
    ]);
    assert.equal(read('input'), 'the dump');
    assert.match(read('modes'), /^-rw-------/);
    assert.ok(!fs.existsSync(config.slice('--config='.length)), 'the file is gone');
    assert.ok(fs.existsSync(dir));
    over();
  });

  it('CLICKHOUSE finds the file where it may read backups, and the file goes then', async () => {
    const { dir, read, end: over } = await played('CLICKHOUSE', 'backup', ['clickhouse-client']);
    assert.equal(read('input'), "RESTORE DATABASE `shop` FROM File('gangway-restore.tar')\n");
    assert.equal(read('seen'), 'gangway-restore.tar\n');
    assert.deepEqual(fs.readdirSync(join(dir, 'backups')), []);
    over();
  });
});
