import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { confined, parseLaunch } from '../../../../../src/programs/runner/limits/launch.ts';
import type { ProgramStart } from '../../../../../src/programs/runner/limits/launch.ts';
import type { Place } from '../../../../../src/protocol/terminal-messages.ts';
import { needs } from '../../../../support/programs.ts';

const place: Place = { join: [], limiter: null };
const statusFd = 3;

describe('confined()', () => {
  let dir: string;
  beforeEach(() => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'gangway-launch-'));
  });
  afterEach(() => {
    fs.rmSync(dir, { recursive: true });
  });

  const script = (name: string, text: string, mode = 0o755): string => {
    const file = path.join(dir, name);
    fs.writeFileSync(file, text, { mode });
    return file;
  };
  const launch = (start: Partial<ProgramStart> & Pick<ProgramStart, 'command'>, where = place) => {
    const env = { PATH: '/usr/bin:/bin', ...start.env };
    const whole = { workingDir: dir, uid: null, ...start, env };
    const { command, workingDir, env: launcherEnv } = confined(whole, where, [], statusFd);
    const [program = '', ...args] = command;
    const ran = spawnSync(program, args, {
      cwd: workingDir,
      env: { ...launcherEnv },
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      encoding: 'utf8',
    });
    const refused = parseLaunch(ran.output[statusFd] ?? '');
    return { out: ran.stdout, err: ran.stderr, code: ran.status, refused };
  };

  it('starts nothing else where nothing confines', () => {
    const start = { command: ['/bin/true'], workingDir: '/', env: {}, uid: null };
    assert.equal(confined(start, null), start);
  });

  it('becomes the program, with its variables, folder and arguments and nothing else', () => {
    const env = { 'NAME.with-dots': 'ä "quoted"\n', PWD: 'mine', LD_LIBRARY_PATH: '/none' };
    const { out, err, code, refused } = launch({
      command: [
        'node',
        '-p',
        'JSON.stringify([process.cwd(), process.argv.slice(1), process.env])',
        'x y',
      ],
      env: { ...env, PATH: path.dirname(process.execPath) },
    });
    assert.deepEqual([refused, err, code], [undefined, '', 0]);
    const [cwd, args, seen] = JSON.parse(out) as [string, string[], Record<string, string>];
    assert.deepEqual([cwd, args], [fs.realpathSync(dir), ['x y']]);
    assert.deepEqual(seen, { ...env, PATH: path.dirname(process.execPath) });
  });

  it('carries variables larger than the kernel takes in one', () => {
    const env = Object.fromEntries(
      Array.from({ length: 10 }, (_, i) => [`LARGE_${String(i)}`, '"'.repeat(50_000)]),
    );
    const { out } = launch({ command: ['/bin/sh', '-c', 'printf %s "$LARGE_9" | wc -c'], env });
    assert.equal(out.trim(), '50000');
    const tooLarge = launch({ command: ['/bin/true'], env: { A: 'x'.repeat(140_000) } });
    assert.equal(tooLarge.refused, 'E2BIG');
  });

  it('is where it may take its due of the processor before anything begins', () => {
    const launching = script('launching', '');
    const enter = ['/bin/sh', '-c', 'cat "$0"; exec "$@"', launching];
    const { out, refused } = launch(
      { command: ['/bin/echo', 'here'] },
      { ...place, enter, launching },
    );
    assert.deepEqual([out, refused], ['0\nhere\n', undefined]);
    const gone = { ...place, launching: path.join(dir, 'none', 'such') };
    const { err, ...ran } = launch({ command: ['/bin/echo', 'here'] }, gone);
    assert.deepEqual([ran.out, err, ran.refused], ['here\n', '', undefined]);
  });

  it('leaves no signal ignored and no descriptor open', () => {
    const look = ['-c', 'grep SigIgn /proc/self/status; ls /proc/self/fd'];
    const plain = spawnSync('/bin/sh', look, { cwd: dir, stdio: ['ignore', 'pipe', 'pipe'] });
    assert.equal(launch({ command: ['/bin/sh', ...look] }).out, plain.stdout.toString());
  });

  it('joins before the program begins', () => {
    const joined = path.join(dir, 'joined');
    fs.writeFileSync(joined, '');
    const { out } = launch({ command: ['/bin/cat', joined] }, { join: [joined], limiter: null });
    assert.equal(out, '0');
    const refusing = { join: [path.join(dir, 'no', 'group')], limiter: null };
    assert.equal(launch({ command: ['/bin/true'] }, refusing).refused, 'ENOLIMITS');
  });

  it('runs what sets limits in between', () => {
    const limiter = ['/usr/bin/env', 'LIMITED=yes'];
    const { out } = launch({ command: ['printenv', 'LIMITED'] }, { join: [], limiter });
    assert.equal(out, 'yes\n');
  });

  it('runs a text without an interpreter by the shell', () => {
    assert.equal(
      launch({ command: [script('plain', 'echo plain $1'), 'text'] }).out,
      'plain text\n',
    );
  });

  it('finds a program by the PATH of the workload', () => {
    script('tool', '#!/bin/sh\necho found');
    assert.equal(launch({ command: ['tool'], env: { PATH: `/none:${dir}` } }).out, 'found\n');
    assert.equal(launch({ command: ['tool'] }).refused, 'ENOENT');
    fs.chmodSync(path.join(dir, 'tool'), 0o644);
    assert.equal(launch({ command: ['tool'], env: { PATH: dir } }).refused, 'EACCES');
  });

  it('tells what the system would say of a program that cannot be started', () => {
    assert.equal(launch({ command: ['/no/such/program'] }).refused, 'ENOENT');
    assert.equal(launch({ command: ['/etc/passwd'] }).refused, 'EACCES');
    assert.equal(launch({ command: [dir] }).refused, 'EACCES');
    assert.equal(
      launch({ command: [script('lost', '#!/no/such/interpreter\n')] }).refused,
      'ENOENT',
    );
    assert.equal(launch({ command: [script('dos', '#!/bin/sh\r\necho\r\n')] }).refused, 'ENOENT');
    assert.equal(launch({ command: ['/bin/true'], workingDir: '/no/such' }).refused, 'ENOENT');
  });

  it('tells it on standard error where nobody else is to be told', () => {
    const start = { command: ['/no/such/program'], workingDir: '/', env: {}, uid: null };
    const { command, env } = confined(start, place);
    const [program = '', ...args] = command;
    const ran = spawnSync(program, args, { env: { ...env }, encoding: 'utf8' });
    assert.deepEqual([ran.status, ran.stderr], [127, 'Cannot start /no/such/program: ENOENT\r\n']);
  });

  it('takes the uid before it looks at the program', { skip: needs('root') }, () => {
    fs.chmodSync(dir, 0o755);
    const mine = script('mine', '#!/bin/sh\nid -u; id -g; id -G', 0o700);
    assert.equal(launch({ command: [mine], uid: 234_567 }).refused, 'EACCES');
    fs.chownSync(mine, 234_567, 234_567);
    assert.equal(launch({ command: [mine], uid: 234_567 }).out, '234567\n234567\n234567\n');
  });
});
