import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import {
  buildEnvironment,
  failedStepFile,
  jobCommand,
  serviceCommand,
  serviceEnvironment,
} from '../../../../../src/actors/app/build/environment.ts';
import { AppPaths } from '../../../../../src/places/owned-folders.ts';

const files = new AppPaths('/a', 'app_1');
const toolchain = { path: ['/t/bin', '/bin'], node: '/t/n', staticServer: '/t/s', nodeVersion: '' };
const parts = { files, toolchain, folder: '/a/app_1/releases/r' };

describe('what an app starts with', () => {
  it('has nothing of our environment, and ours over its own', () => {
    const variables = { PORT: '1', APP_DATA_DIR: '/x', NODE_ENV: 'test' };
    const env = serviceEnvironment({ ...parts, variables }, 4000);
    assert.deepEqual(env, {
      PATH: '/a/app_1/releases/r/node_modules/.bin:/a/app_1/releases/r/.venv/bin:/t/bin:/bin',
      HOME: '/a/app_1/home',
      TMPDIR: '/a/app_1/tmp',
      LANG: 'C.UTF-8',
      NODE_ENV: 'test',
      PYTHONUNBUFFERED: '1',
      PORT: '4000',
      APP_DATA_DIR: '/a/app_1/data',
    });
  });

  it('passes proxies and registries to builds only', () => {
    const passedOn = { HTTPS_PROXY: 'http://p' };
    assert.equal(
      buildEnvironment({ ...parts, variables: {} }, passedOn)['HTTPS_PROXY'],
      'http://p',
    );
    assert.equal(serviceEnvironment({ ...parts, variables: {} }, 1)['HTTPS_PROXY'], undefined);
  });

  it('serves static files with our own server, and commands by a shell', () => {
    const plan = { kind: 'static', startCommand: null, staticDir: 'dist' } as const;
    assert.deepEqual(serviceCommand(plan, toolchain, '/r'), ['/t/n', '/t/s', '/r/dist']);
    const started = (startCommand: string) =>
      serviceCommand({ ...plan, startCommand }, toolchain, '/r');
    for (const command of ['a && b', 'A=1 b', 'cd x', 'exit 5', '{ a; }', 'a | b', 'exec a']) {
      assert.deepEqual(started(command), ['/bin/sh', '-c', command]);
    }
    for (const command of ['node a.js', './run --port $PORT', 'node -e "x"']) {
      assert.deepEqual(started(command), ['/bin/sh', '-c', `exec ${command}`]);
    }
  });

  it('stops a job at the first step that fails, also inside of a step, and leaves which', (t) => {
    const folder = fs.mkdtempSync(path.join(tmpdir(), 'gangway-steps-'));
    t.after(() => {
      fs.rmSync(folder, { recursive: true });
    });
    const run = (steps: string[]) => {
      const [program = '', ...rest] = jobCommand(steps);
      const { status, stdout } = spawnSync(program, rest, { encoding: 'utf8', cwd: folder });
      const failed = fs.readFileSync(path.join(folder, failedStepFile), 'utf8');
      return { status, stdout, failed };
    };
    assert.deepEqual(run(["echo 'a b'", 'exit 4', 'echo no']), {
      status: 4,
      stdout: "$ echo 'a b'\na b\n$ exit 4\n",
      failed: 'exit 4',
    });
    assert.equal(run(['false && true', 'echo no']).stdout, '$ false && true\n');
    assert.equal(run(['false\necho no']).status, 1);
    fs.rmSync(path.join(folder, failedStepFile));
    // What is there in its place is neither followed nor an obstacle.
    fs.symlinkSync('/dev/full', path.join(folder, failedStepFile));
    assert.deepEqual(run([`echo "it's"; exit 2`]), {
      status: 2,
      stdout: `$ echo "it's"; exit 2
it's
`,
      failed: `echo "it's"; exit 2`,
    });
    assert.equal(run(['exit 9']).failed, 'exit 9');
  });
});
