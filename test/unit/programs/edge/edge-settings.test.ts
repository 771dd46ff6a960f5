import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { EdgePlace } from '../../../support/edge-place.ts';
import { eventually } from '../../../support/eventually.ts';

describe('the edge and what an app wants of it', () => {
  let place: EdgePlace;
  beforeEach(async () => {
    place = await new EdgePlace().open();
  });
  afterEach(() => place.close());

  it('prefers the target with the fewest requests under way', async () => {
    const held: ServerResponse[] = [];
    const one = await place.app((_req, res) => void held.push(res));
    const other = await place.app((_req, res) => res.end('other'));
    place.routeTo(one.port, other.port);
    const slow = [place.ask(), place.ask()];
    await eventually('one that is held', () => held.length === 1);
    for (let times = 0; times < 4; times++) assert.equal((await place.ask()).body, 'other');
    held[0]?.end('one');
    const bodies = (await Promise.all(slow)).map(({ body }) => body);
    assert.deepEqual(bodies.sort(), ['one', 'other']);
    // Both are free again.
    held.length = 0;
    const next = [place.ask(), place.ask()];
    await eventually('one that is held', () => held.length === 1);
    held[0]?.end('one');
    await Promise.all(next);
  });
});
