import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { Terminals } from '../../../../src/drivers/process/terminals.ts';
import {
  type RunnerRequest,
  terminalWindowBytes,
} from '../../../../src/protocol/runner-messages.ts';

async function opened() {
  const told: RunnerRequest['op'][] = [];
  const terminals = new Terminals({
    request: () => Promise.resolve(null),
    tell: ({ op }) => told.push(op),
  });
  const output: Buffer[] = [];
  const exits: unknown[] = [];
  const spec = { command: [], cols: 80, rows: 24, env: {} };
  const terminal = await terminals.open('x-1', spec, {
    output: (bytes) => output.push(Buffer.from(bytes)),
    exit: (how) => exits.push(how),
  });
  const say = (bytes: Uint8Array): void =>
    terminals.hear({ event: 'terminal-output', terminal: 1, bytes });
  return { terminals, terminal, told, output, exits, say };
}

describe('a terminal that is paused', () => {
  it('holds what its window allows, also byte by byte, and tells it in order once it goes on', async () => {
    const { terminals, terminal, told, output, exits, say } = await opened();
    const bytes = Buffer.from(Array.from({ length: terminalWindowBytes }, (_, i) => i * 7));
    terminal.pause();
    for (let at = 0; at < 20_000; at++) say(bytes.subarray(at, at + 1));
    say(bytes.subarray(20_000));
    terminals.hear({ event: 'terminal-exit', terminal: 1, code: 0, lost: false });
    assert.deepEqual([output, exits], [[], []]);
    terminal.resume();
    assert.deepEqual(Buffer.concat(output), bytes);
    assert.ok(output.length < 30, `${String(output.length)} pieces`);
    assert.deepEqual(exits, [{ code: 0, lost: false }]);
    assert.equal(told.includes('terminal-close'), false);
  });

  it('is lost, and holds nothing, when far more comes', async () => {
    const { terminal, told, output, exits, say } = await opened();
    terminal.pause();
    const piece = Buffer.alloc(terminalWindowBytes);
    say(piece);
    say(piece);
    assert.deepEqual([told, exits], [[], []]);
    say(piece.subarray(0, 1));
    assert.deepEqual([told, exits], [['terminal-close'], [{ code: null, lost: true }]]);
    terminal.pause();
    say(piece);
    terminal.resume();
    assert.deepEqual([output, exits.length], [[], 1]);
  });
});
