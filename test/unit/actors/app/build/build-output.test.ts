import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BuildOutput } from '../../../../../src/actors/app/build/build-output.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';

describe('the output of a builder', () => {
  const outputOf = () => {
    const said: string[] = [];
    const clock = new ManualClock();
    const output = new BuildOutput((text) => said.push(text), clock);
    return { said, clock, output };
  };

  it('is written a few lines at a time, in order', () => {
    const { said, clock, output } = outputOf();
    for (const line of ['one', 'two']) output.line(line);
    assert.deepEqual(said, []);
    void clock.advance(50);
    assert.deepEqual(said, ['one\ntwo']);
    output.line('three');
    output.flush();
    output.flush();
    assert.deepEqual(said, ['one\ntwo', 'three']);
  });

  it('does not wait when there is much of it, and ends where it is too much', () => {
    const { said, output } = outputOf();
    const line = 'x'.repeat(16 * 1024);
    for (let i = 0; i < 4; i++) output.line(line);
    assert.equal(said.length, 1);
    for (let i = 0; i < 3000; i++) output.line(`${line}more`);
    output.flush();
    const text = said.join('\n');
    assert.ok(text.length < 34 * 1024 * 1024);
    assert.match(text.slice(-100), /The rest of the output is not kept\.$/);
    assert.ok(!text.includes('more'), 'a line has an end');
  });

  it('tells why a step of ours failed, not that the step says so', () => {
    const { output } = outputOf();
    output.line("Step 4/9 : RUN echo 'Gangway: not now'");
    assert.equal(output.reason, null);
    output.line('Gangway: no page');
    assert.equal(output.reason, 'no page');
  });
});
