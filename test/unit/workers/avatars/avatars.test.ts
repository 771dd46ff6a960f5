import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Avatars, type DrawAvatar } from '../../../../src/workers/avatars/avatars.ts';
import type { AvatarDesign } from '../../../../src/workers/avatars/designs.ts';

const design = (seed: string): AvatarDesign => ({ style: 'rings', preset: 'default', seed });

function counted(): { draw: DrawAvatar; drawn: string[]; go: () => void } {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const drawn: string[] = [];
  const draw: DrawAvatar = async ({ style, seed }) => {
    drawn.push(seed);
    await promise;
    if (seed === 'broken') throw new Error('no picture');
    return `<svg>${style} ${seed}</svg>`;
  };
  return { draw, drawn, go: () => resolve(undefined) };
}

describe('Avatars', () => {
  it('draw a picture once for all who ask, and keep it', async () => {
    const { draw, drawn, go } = counted();
    const avatars = new Avatars({ draw });
    const both = Promise.all([avatars.get(design('ann')), avatars.get(design('ann'))]);
    assert.equal(avatars.kept(design('ann')), undefined);
    go();
    const [one, other] = await both;
    assert.equal(one.svg.toString(), '<svg>rings ann</svg>');
    assert.equal(one.etag, other.etag);
    assert.equal(avatars.kept(design('ann')), one);
    assert.equal(await avatars.get(design('ann')), one);
    assert.deepEqual(drawn, ['ann']);
  });

  it('keep so many, and forget what nobody asked for lately', async () => {
    const { draw, drawn, go } = counted();
    go();
    const avatars = new Avatars({ draw, keptMax: 4 });
    for (let i = 0; i < 100; i++) await avatars.get(design(String(i)));
    assert.equal(avatars.kept(design('0')), undefined);
    assert.ok(avatars.kept(design('99')));
    assert.equal(drawn.length, 100);
  });

  it('refuse new ones while too many wait, and draw those that are free again', async () => {
    const { draw, go } = counted();
    const avatars = new Avatars({ draw, waitingMax: 2 });
    const waiting = [avatars.get(design('a')), avatars.get(design('b'))];
    await assert.rejects(avatars.get(design('c')), { code: 'OVERLOADED' });
    go();
    await Promise.all(waiting);
    await avatars.get(design('c'));
  });

  it('keep no picture that could not be drawn', async () => {
    const { draw, drawn, go } = counted();
    const avatars = new Avatars({ draw });
    go();
    await assert.rejects(avatars.get(design('broken')), /no picture/);
    await assert.rejects(avatars.get(design('broken')), /no picture/);
    assert.equal(drawn.length, 2);
  });
});
