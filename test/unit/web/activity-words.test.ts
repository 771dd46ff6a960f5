import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { browserWords } from '../../../web/pages/account/browsers.ts';
import { actionWords, actorOf, targetOf } from '../../../web/pages/activity/words.ts';

describe('an entry of the activity', () => {
  it('reads as words, whichever way its action is written', () => {
    assert.equal(actionWords('createApp'), 'Create app');
    assert.equal(actionWords('deploy_hook'), 'Deploy hook');
    assert.equal(actionWords(''), '');
  });

  it('names who acted, and by what', () => {
    assert.deepEqual(actorOf('person:Ada ada@example.com'), { name: 'Ada ada@example.com', by: null }); // prettier-ignore
    assert.deepEqual(actorOf('token:CI gwy_1 of a@b.c'), { name: 'CI gwy_1 of a@b.c', by: 'API token' }); // prettier-ignore
    assert.deepEqual(actorOf('nobody'), { name: 'Nobody signed in', by: null });
    assert.deepEqual(actorOf('strange:x'), { name: 'strange:x', by: null });
  });

  it('names what was changed by its name, else by its id', () => {
    assert.equal(targetOf('app:app_1 My shop').name, 'My shop');
    assert.equal(targetOf('app:app_1 two\nlines').name, 'two\nlines');
    assert.equal(targetOf('app:app_1').name, 'app_1');
    assert.equal(targetOf('anything else').name, 'anything else');
  });
});

describe('a session', () => {
  it('tells the browser and the system, as far as they tell themselves', () => {
    const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
    const edge = 'Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0'; // prettier-ignore
    assert.equal(browserWords(firefox), 'Firefox on Linux');
    assert.equal(browserWords(edge), 'Edge on Windows');
    assert.equal(browserWords('curl/8.1'), 'curl');
    assert.equal(browserWords('my program'), 'my program');
    assert.equal(browserWords(null), 'Unknown');
  });
});
