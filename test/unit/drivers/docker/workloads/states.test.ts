import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { KnownSpec } from '../../../../../src/drivers/docker/engine/names.ts';
import {
  initFailure,
  isPortTaken,
  sentenceOf,
  stateOf,
} from '../../../../../src/drivers/docker/workloads/states.ts';
import type { ContainerView } from '../../../../../src/drivers/docker/workloads/states.ts';

const spec: KnownSpec = {
  id: 'one-1',
  owner: 'app_x',
  kind: 'service',
  port: null,
  innerPort: null,
  address: null,
  deadlineMs: null,
  stopGraceMs: 0,
};

function viewOf(state: Partial<ContainerView['State']>, restarts = 0): ContainerView {
  return {
    Id: 'abc',
    RestartCount: restarts,
    State: {
      Status: 'running',
      Running: true,
      OOMKilled: false,
      Pid: 1,
      ExitCode: 0,
      Error: '',
      StartedAt: '2026-01-01T00:00:00.000000000Z',
      FinishedAt: '2026-01-01T00:00:01.000000000Z',
      ...state,
    },
    Config: { Labels: {}, OpenStdin: false, Tty: false },
    HostConfig: { Memory: 64 * 1024 * 1024 },
    NetworkSettings: { Networks: null },
  };
}

describe('stateOf()', () => {
  it('waits for the next start as long as Docker does', () => {
    const waits = [1, 2, 5, 40].map((restarts) => {
      const state = stateOf(
        viewOf({ Status: 'restarting', ExitCode: 1 }, restarts),
        spec,
        undefined,
      );
      return state?.phase === 'waiting' ? state.nextStartAtMs - state.lastExit.atMs : -1;
    });
    assert.deepEqual(waits, [100, 200, 1600, 60_000]);
  });

  it('tells signals, codes and the end by memory', () => {
    const exitOf = (state: Partial<ContainerView['State']>) => {
      const seen = stateOf(
        viewOf({ Status: 'exited', ...state }),
        { ...spec, kind: 'job' },
        undefined,
      );
      assert.equal(seen?.phase, 'ended');
      return seen.exit;
    };
    assert.deepEqual(exitOf({ ExitCode: 143 }).signal, 'SIGTERM');
    assert.deepEqual(exitOf({ ExitCode: 3 }).code, 3);
    assert.deepEqual(exitOf({ ExitCode: 250 }).code, 250);
    assert.match(
      exitOf({ ExitCode: 137, OOMKilled: true }).detail ?? '',
      /used more than its 64 MB/,
    );
  });

  it('knows nothing of what was made and not started, but why it could not be', () => {
    assert.equal(stateOf(viewOf({ Status: 'created' }), spec, undefined), undefined);
    const failed = stateOf(
      viewOf({ Status: 'created', Error: 'driver failed: port is already allocated' }),
      spec,
      undefined,
    );
    assert.equal(failed?.phase === 'ended' && failed.exit.reason, 'failed_to_start');
  });

  it('takes a service that rests for stopped, by whomever', () => {
    const state = stateOf(viewOf({ Status: 'exited', ExitCode: 0 }), spec, undefined);
    assert.equal(state?.phase === 'ended' && state.exit.reason, 'stopped');
  });
});

describe('what could not be started', () => {
  it('is said in a sentence, without words of the daemon', () => {
    const said: [string, RegExp][] = [
      ['Bind for 127.0.0.1:80 failed: port is already allocated', /port is already in use/],
      ['listen tcp4 127.0.0.1:80: bind: address already in use', /port is already in use/],
      ['No such image: none:1', /no such image/],
      ['exec: "nope": executable file not found in $PATH: unknown', /nope: no such program/],
      ['exec: "/x": permission denied: unknown', /\/x: it is not executable/],
      ['unable to find user nobody: no matching entries in passwd file', /user is not known/],
      ['No command specified', /names no program/],
      [
        'source /var/lib/docker/overlay2/0a/merged/data is not directory',
        /: \/data is no folder in/,
      ],
      [
        'lstat /x/overlay2/0a/merged/data/y: not a directory',
        /: \/data\/y is no folder in the image/,
      ],
      ['something nobody ever saw', /^Cannot start it: the Docker daemon refused\.$/],
    ];
    for (const [words, sentence] of said) assert.match(sentenceOf(words), sentence);
    assert.ok(isPortTaken(sentenceOf('port is already allocated')));
  });

  it('is told by docker-init, and by nothing that looks alike', () => {
    assert.match(
      initFailure('\u0002\0\0\0[FATAL tini (7)] exec /no failed: No such file or directory') ?? '',
      /\/no: no such program/,
    );
    assert.match(initFailure('[FATAL tini (7)] exec a failed: Exec format error') ?? '', /kind of/);
    assert.equal(initFailure('sh: nope: not found'), null);
  });
});
