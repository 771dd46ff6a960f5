import assert from 'node:assert/strict';
import { type Duplex, duplexPair } from 'node:stream';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { ResumableDuplex } from '../../src/lib/resumable-duplex.ts';
import { eventually } from '../support/eventually.ts';
import { ManualClock, settle } from '../support/manual-clock.ts';

const keepMs = 60_000;

interface Ends {
  clock: ManualClock;
  one: ResumableDuplex;
  other: ResumableDuplex;
  /** The streams that carry it now. */
  carried: [Duplex, Duplex];
  join(): void;
  cut(): void;
}

function ends(windowBytes = 4096): Ends {
  const clock = new ManualClock();
  const make = (): ResumableDuplex => {
    const broken = (): Error => new Error('broken');
    const made = new ResumableDuplex({ windowBytes, keepMs, clock, broken });
    made.on('error', () => undefined); // A test that is about it listens itself.
    return made;
  };
  const [one, other] = [make(), make()];
  const world: Ends = {
    clock,
    one,
    other,
    carried: duplexPair(),
    join() {
      world.carried = duplexPair();
      const [near, far] = world.carried;
      const [ofOne, ofOther] = [one.received, other.received];
      one.attach(near, ofOther);
      other.attach(far, ofOne);
    },
    cut() {
      for (const stream of world.carried) stream.destroy();
    },
  };
  world.join();
  return world;
}

/** All that comes, in the order in which it comes. */
function taken(duplex: Duplex): { bytes: () => Buffer; ended: Promise<unknown> } {
  const chunks: Buffer[] = [];
  duplex.on('data', (chunk: Buffer) => chunks.push(Buffer.from(chunk)));
  const ended = new Promise((resolve) => {
    duplex.once('end', () => resolve('end'));
    duplex.once('error', resolve);
  });
  return { bytes: () => Buffer.concat(chunks), ended };
}

type Step = { kind: 'one' | 'other'; bytes: Uint8Array } | { kind: 'cut' | 'join' | 'wait' };

/** No two of them are alike, nor are their parts. */
function counted([length, first]: [number, number]): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => first + 7 * i + (i >> 8));
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constantFrom('one' as const, 'other' as const),
      bytes: fc.tuple(fc.integer({ min: 1, max: 20_000 }), fc.nat(255)).map(counted),
    }),
    fc.record({ kind: fc.constantFrom('cut' as const, 'join' as const, 'wait' as const) }),
  ),
  // Many and large enough to fill the window.
  { maxLength: 40, size: 'max' },
);

describe('a resumable duplex', () => {
  it('carries every byte once and in order over any number of streams', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const world = ends(64 * 1024);
        const { one, other } = world;
        const [atOther, atOne] = [taken(other), taken(one)];
        const sent: Record<'one' | 'other', Uint8Array[]> = { one: [], other: [] };
        let isJoined = true;
        for (const step of all) {
          if (step.kind === 'one' || step.kind === 'other') {
            sent[step.kind].push(step.bytes);
            world[step.kind].write(step.bytes);
          } else if (step.kind === 'wait') await settle();
          else if (step.kind === 'cut') {
            world.cut();
            isJoined = false;
          } else {
            if (isJoined) world.cut();
            await settle();
            world.join();
            isJoined = true;
          }
        }
        one.end();
        other.end();
        await settle();
        world.cut();
        await settle();
        world.join();
        assert.deepEqual(await Promise.all([atOther.ended, atOne.ended]), ['end', 'end']);
        assert.deepEqual(atOther.bytes(), Buffer.concat(sent.one));
        assert.deepEqual(atOne.bytes(), Buffer.concat(sent.other));
      }),
      { numRuns: 200 },
    );
  });

  it('lets who writes wait while the other end takes nothing, with a stream and without one', async () => {
    for (const isCut of [false, true]) {
      const world = ends();
      if (isCut) world.cut();
      let written = 0;
      const more = (): void => {
        while (written < 10_000_000) {
          written += 1024;
          if (!world.one.write(Buffer.alloc(1024))) return;
        }
      };
      world.one.on('drain', more);
      more();
      for (let i = 0; i < 20; i++) await settle();
      assert.ok(written < 512 * 1024, `${String(written)} bytes`);
      world.one.destroy();
      world.other.destroy();
    }
  });

  it('breaks when it has no stream for long, and when the other end gives up', async () => {
    const away = ends();
    const [atOne, atOther] = [taken(away.one), taken(away.other)];
    away.cut();
    await settle();
    await away.clock.advance(keepMs - 1);
    assert.equal(away.one.destroyed, false);
    await away.clock.advance(1);
    assert.deepEqual(
      [String(await atOne.ended), String(await atOther.ended)],
      ['Error: broken', 'Error: broken'],
    );
    const given = ends();
    const told = taken(given.other);
    given.one.write('some');
    given.one.destroy();
    assert.equal(String(await told.ended), 'Error: broken');
  });

  it('lives on when it had another stream in time', async () => {
    const world = ends();
    for (let i = 0; i < 3; i++) {
      world.cut();
      await world.clock.advance(keepMs - 1);
      world.join();
    }
    await world.clock.advance(10 * keepMs);
    const told = taken(world.other);
    world.one.end('still here');
    world.other.end();
    assert.equal(await told.ended, 'end');
    assert.equal(told.bytes().toString(), 'still here');
  });

  it('stays with its stream where one comes late that was asked for before it', async () => {
    const world = ends(100_000);
    const told = taken(world.other);
    world.one.write(Buffer.alloc(64 * 1024));
    await eventually('all has come', () => told.bytes().length === 64 * 1024);
    const late = duplexPair();
    world.one.attach(late[0], 0);
    assert.deepEqual([world.one.destroyed, late[0].destroyed], [false, true]);
    world.one.end('still here');
    world.other.end();
    assert.equal(await told.ended, 'end');
    assert.equal(told.bytes().subarray(-10).toString(), 'still here');
  });

  it('breaks when the other end claims to have what was never sent', () => {
    const { one, carried } = ends();
    one.on('error', () => undefined);
    carried[0].destroy();
    one.attach(duplexPair()[0], 1);
    assert.equal(one.destroyed, true);
  });

  it('lets no answers pile up for another end that reads none', async () => {
    const { one, carried } = ends();
    carried[0].destroy();
    // It takes what comes.
    one.resume();
    const head = (frame: number, count: number): Buffer => {
      const bytes = Buffer.alloc(7);
      bytes[0] = frame;
      bytes.writeUIntBE(count, 1, 6);
      return bytes;
    };
    const [near, far] = duplexPair({ highWaterMark: 64 });
    one.attach(near, 0);
    const sent = 50;
    for (let i = 0; i < sent; i++) {
      far.write(Buffer.concat([head(0, 64 * 1024), Buffer.alloc(64 * 1024)]));
      await eventually('it has come', () => one.received === (i + 1) * 64 * 1024);
      assert.ok(near.writableLength <= 2 * 64, `${String(near.writableLength)} bytes`);
    }
    // All that was not said is, once it reads.
    const { bytes } = taken(far);
    const last = head(1, sent * 64 * 1024);
    await eventually('all is acknowledged', () => bytes().subarray(-7).equals(last));
    const before = bytes().length;
    for (let i = 0; i < 1000; i++) far.write(head(2, 0));
    await eventually('the end is told', () => bytes().length > before);
    await settle();
    assert.deepEqual(bytes().subarray(before), head(3, 0));
  });
});
