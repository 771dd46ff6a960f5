import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { HostPrograms } from '../../../../src/drivers/process/host-tools.ts';
import { tempDir } from '../../../support/runner.ts';
import { recordingLogger } from '../../../support/silent-logger.ts';

describe('HostPrograms', () => {
  let root: string;
  let programs: HostPrograms;
  beforeEach(() => {
    root = tempDir();
    programs = open();
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const open = (): HostPrograms =>
    new HostPrograms({
      appsRoot: root,
      path: [root],
      node: () => Promise.resolve(process.execPath),
      logger: recordingLogger(),
    });

  const run = (
    program: string,
    args: string[],
    env: Record<string, string> = {},
  ): Promise<{ code: number; text: string }> =>
    new Promise((resolve) => {
      execFile(program, args, { env, timeout: 30_000 }, (error, stdout, stderr) => {
        resolve({ code: Number(error?.code ?? 0), text: stdout + stderr });
      });
    });

  it('finds the first program of some names that may be run', async () => {
    for (const name of ['one', 'two', 'three'])
      writeFileSync(join(root, name), '#!/bin/sh\necho hi');
    for (const name of ['two', 'three']) chmodSync(join(root, name), 0o755);
    assert.equal(await programs.find(['zero', 'one', 'two', 'three']), join(root, 'two'));
    assert.equal(await programs.find(['zero', 'one']), null);
    assert.equal(await programs.ask(join(root, 'two'), []), 'hi\n');
    assert.equal(await programs.ask(join(root, 'one'), []), null);
  });

  it('copies its own PostgreSQL once, whole, for every uid to read', async () => {
    const [first, second] = await Promise.all([programs.ownPostgres(), open().ownPostgres()]);
    assert.deepEqual(first, second);
    assert.ok(first);
    assert.match(first.version, /^\d+\.\d+$/);
    const { code, text } = await run(join(first.bin, 'postgres'), ['--version']);
    assert.equal(code, 0, text);
    assert.ok(text.includes(first.version));
    assert.equal(statSync(first.bin).mode & 0o777, 0o755);
    assert.deepEqual(readdirSync(join(root, 'programs')).length, 1);
  });

  it('copies the SQL prompt with all it needs', async () => {
    const { node, program } = await programs.sqlPrompt();
    assert.ok(existsSync(program));
    const env = { PGHOST: '127.0.0.1', PGPORT: '1', PGUSER: 'a', PGDATABASE: 'a' };
    const { code, text } = await run(node, [program, '--statement'], env);
    assert.equal(code, 2, text);
    assert.match(text, /ECONNREFUSED/);
  });
});
