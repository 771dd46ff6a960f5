import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FlushPace } from '../../../../src/logs/viewers/flush-pace.ts';

const after = (...tookMs: number[]): FlushPace => {
  const pace = new FlushPace({ flushMs: 50, flushMaxMs: 250 });
  for (const ms of tookMs) pace.note(ms);
  return pace;
};

describe('the pace of a fan-out', () => {
  it('keeps the full time between two flushes while little or nothing is known', () => {
    assert.equal(after().leadMs, 0);
    assert.equal(after(0.9).leadMs, 0);
  });

  it('begins a flush earlier by what a round takes', () => {
    assert.equal(after(8.7).leadMs, 8);
    assert.equal(after(12.5).leadMs, 12);
  });

  it('leaves the loop two thirds of its time, and then flushes no more often than else', () => {
    assert.equal(after(14).leadMs, 8);
    for (const ms of [16.7, 30, 200]) assert.equal(after(ms).leadMs, 0);
  });

  it('goes by the quickest of the last eight rounds', () => {
    assert.equal(after(9, 40, 60, 40, 30, 12, 20, 11).leadMs, 9);
    assert.equal(after(9, 40, 60, 40, 30, 12, 20, 11, 13).leadMs, 11);
  });

  it('pauses for the rest of the time between two flushes, which a long round stretches', () => {
    const pace = after();
    assert.equal(pace.pauseMs(10), 40);
    assert.equal(pace.pauseMs(100), 25);
    assert.equal(pace.pauseMs(240), 10);
    assert.equal(pace.pauseMs(1_000), 0);
  });
});
