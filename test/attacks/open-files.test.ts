/** A client that opens more connections than Gangway may have files: it must leave some for everything else. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';

import { eventually } from '../support/eventually.ts';
import { Gangway } from '../support/gangway.ts';
import { needs } from '../support/programs.ts';

const files = 400;
/** Its end never comes. */
const begun =
  'POST /api/graphql HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{';
const other = '127.0.0.9';

describe('a service with few files that one client floods', { skip: needs('prlimit') }, () => {
  it('serves others, and opens what it needs for them', async (t) => {
    const runBy = ['prlimit', `--nofile=${String(files)}:${String(files)}`];
    const env = { GANGWAY_TRUSTED_PROXIES: other };
    const gangway = await Gangway.create({ runBy, env });
    t.after(() => gangway.end());
    await gangway.start();
    await eventually('the warning', () => gangway.output.includes('sockets_limited'));
    const open = (text: string, localAddress: string): Socket => {
      const socket = connect({ port: gangway.port, host: '127.0.0.1', localAddress });
      t.after(() => socket.destroy());
      socket.on('error', () => undefined).resume();
      return socket.on('connect', () => socket.write(text));
    };
    const flood = Array.from({ length: 2 * files }, () => open(begun, '127.0.0.1'));
    await eventually('all to be opened', () => flood.every(({ connecting }) => !connecting));
    // A page of the setup is read from its file.
    const socket = open('GET /setup HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', other);
    let text = '';
    socket.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')));
    await eventually('the answer', () => socket.closed);
    assert.match(text, /^HTTP\/1\.1 200 /);
  });
});
