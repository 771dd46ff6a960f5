import assert from 'node:assert/strict';
import { it } from 'node:test';

import { FittingWindow } from '../../../src/lib/http2-window.ts';

const bounds = { min: 64, start: 256, max: 1024 };

function opened(): { window: FittingWindow; set: number[] } {
  const set: number[] = [];
  const session = { destroyed: false, setLocalWindowSize: (bytes: number) => void set.push(bytes) };
  const window = new FittingWindow(session, bounds);
  window.open();
  return { window, set };
}

it('FittingWindow grows up to its bound while answers come as fast as they can', () => {
  const { window, set } = opened();
  for (let i = 0; i < 10; i++) window.answered(200);
  assert.equal(window.bytes, 1024);
  assert.deepEqual(set, [256, 384, 576, 864, 1024]);
});

it('FittingWindow shrinks down to its bound while they wait in a queue, and grows when that is gone', () => {
  const { window } = opened();
  for (let i = 0; i < 5; i++) window.answered(20);
  for (let i = 0; i < 10; i++) window.answered(2000);
  assert.equal(window.bytes, 64);
  for (let i = 0; i < 10; i++) window.answered(25);
  assert.equal(window.bytes, 1024);
});

it('FittingWindow leaves it as it is in between, and learns that the way has become a longer one', () => {
  const { window } = opened();
  window.answered(100);
  const before = window.bytes;
  window.answered(220);
  assert.equal(window.bytes, before);
  for (let i = 0; i < 300; i++) window.answered(400);
  assert.equal(window.bytes, 1024);
});
