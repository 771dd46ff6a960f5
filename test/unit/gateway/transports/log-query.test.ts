import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseLogQuery } from '../../../../src/gateway/transports/log-query.ts';
import { ServiceError } from '../../../../src/lib/errors.ts';

const parse = (query: string, lastEventId = '') =>
  parseLogQuery(new URLSearchParams(query), lastEventId, 14);

describe('parseLogQuery()', () => {
  it('has a default for everything', () => {
    assert.deepEqual(parse(''), {
      container: '',
      tail: 500,
      sinceMinutes: undefined,
      timestamps: false,
      notices: false,
      after: undefined,
    });
  });

  it('takes what is allowed, up to its bounds', () => {
    assert.equal(parse('tail=0').tail, 0);
    assert.equal(parse('tail=5000').tail, 5_000);
    assert.equal(parse('sinceMinutes=10').sinceMinutes, 10);
    assert.equal(parse('sinceMinutes=0').sinceMinutes, 0);
    assert.equal(parse('sinceMinutes=99999999999').sinceMinutes, 14 * 24 * 60);
    assert.equal(parse('timestamps=1').timestamps, true);
    assert.equal(parse('container=web').container, 'web');
    assert.deepEqual(parse('after=abc:7').after, { generation: 'abc', offset: 7 });
  });

  it('lets Last-Event-ID win over after', () => {
    assert.equal(parse('after=abc:7', 'abc:9').after?.offset, 9);
  });

  const bad: [query: string, says: RegExp, lastEventId?: string][] = [
    ['tail=-1', /tail must be an integer from 0 to 5000/],
    ['tail=5001', /from 0 to 5000/],
    ['tail=ten', /from 0 to 5000/],
    ['tail=1.5', /from 0 to 5000/],
    ['tail=', /from 0 to 5000/],
    ['tail=1&tail=2', /tail may be given once/],
    ['tail=1e3', /from 0 to 5000/],
    ['tail=%201', /from 0 to 5000/],
    ['sinceMinutes=-5', /sinceMinutes must be an integer of at least 0/],
    ['sinceMinutes=ten', /at least 0/],
    ['timestamps=yes', /timestamps must be 1/],
    ['notices=2', /notices must be 1/],
    ['after=7', /after must be the id of a frame/],
    ['', /Last-Event-ID must be the id of a frame/, 'nonsense'],
    ['after=bad', /after must be/, 'abc:1'],
  ];
  for (const [query, says, lastEventId] of bad) {
    it(`refuses ?${query} ${lastEventId ?? ''} and says what is allowed`, () => {
      assert.throws(
        () => parse(query, lastEventId),
        (error) =>
          error instanceof ServiceError &&
          error.code === 'BAD_USER_INPUT' &&
          says.test(error.message),
      );
    });
  }
});
