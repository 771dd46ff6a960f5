import assert from 'node:assert/strict';
import { it } from 'node:test';
import { requestBytes } from '../../../../bench/load/requests.ts';

it('requestBytes() names one host: the one that is given, else loopback', () => {
  const path = '/x';
  assert.equal(
    requestBytes({ path, headers: { host: 'a.localhost' } }).toString(),
    'GET /x HTTP/1.1\r\nhost: a.localhost\r\n\r\n',
  );
  assert.equal(requestBytes({ path }).toString(), 'GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
});
