import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../../../../src/lib/errors.ts';
import { Activations } from '../../../../src/store/commit/activations.ts';

const shutOut = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === 'OVERLOADED';

describe('Activations', () => {
  it('gives ascending epochs, above all of an earlier start', () => {
    const first = new Activations(1);
    const epochs = [first.next('a:1'), first.next('a:2'), first.next('a:1')];
    assert.deepEqual(
      epochs,
      [...epochs].sort((a, b) => a - b),
    );
    assert.ok(new Activations(2).next('a:1') > (epochs.at(-1) ?? 0));
  });

  it('shuts out the earlier activation of the same actor alone', () => {
    const activations = new Activations(1);
    const [early, other] = [activations.next('a:1'), activations.next('a:2')];
    const late = activations.next('a:1');
    assert.throws(() => {
      activations.check('a:1', early);
    }, shutOut);
    activations.check('a:1', late);
    activations.check('a:2', other);
  });

  it('shuts out an activation that was refused, until the next one', () => {
    const activations = new Activations(1);
    const epoch = activations.next('a:1');
    activations.refuse('a:1', epoch);
    assert.throws(() => {
      activations.check('a:1', epoch);
    }, shutOut);
    const next = activations.next('a:1');
    activations.refuse('a:1', epoch);
    activations.check('a:1', next);
  });

  it('lets an activation that was forgiven go on, and no other', () => {
    const activations = new Activations(1);
    const epoch = activations.next('a:1');
    activations.refuse('a:1', epoch);
    activations.forgive('a:1', epoch - 1);
    assert.throws(() => {
      activations.check('a:1', epoch);
    }, shutOut);
    activations.forgive('a:1', epoch);
    activations.check('a:1', epoch);
  });
});
