import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { it } from 'node:test';
import { CaConnection } from '../../../src/acme/connection.ts';
import { CaUnavailable } from '../../../src/acme/failures.ts';
import { AddressPolicy } from '../../../src/lib/address-policy.ts';
import { GuardedFetch } from '../../../src/lib/guarded-fetch.ts';

const never = new AbortController().signal;
const fetch = new GuardedFetch({ policy: new AddressPolicy({ privateNetworks: [] }) });

function refusedFor(why: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof CaUnavailable && why.test(error.message);
}

it('CaConnection gives up on an authority that hangs, and at once when it is told to', async (t) => {
  const sockets: Socket[] = [];
  const mute = createServer((socket) => sockets.push(socket));
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    mute.close();
  });
  const directory = `https://127.0.0.1:${String((mute.address() as AddressInfo).port)}/dir`;
  const hasty = new CaConnection({ directory, ca: null, fetch, timeoutMs: 50 });
  t.after(() => hasty.close());
  await assert.rejects(hasty.get(directory, never), refusedFor(/too long/));
  const patient = new CaConnection({ directory, ca: null, fetch });
  t.after(() => patient.close());
  const stop = new AbortController();
  const asked = patient.post(directory, '{}', stop.signal);
  stop.abort(new Error('stopped'));
  await assert.rejects(asked, /stopped/);
});

it('CaConnection goes nowhere without https, nor to what nobody may name but the operator', async (t) => {
  const directory = 'https://127.0.0.1:1/dir';
  const connection = new CaConnection({ directory, ca: null, fetch });
  t.after(() => connection.close());
  await assert.rejects(
    connection.get('http://127.0.0.1:1/dir', never),
    refusedFor(/without https/),
  );
  await assert.rejects(connection.get('nowhere', never), refusedFor(/without https/));
  await assert.rejects(connection.get('https://169.254.169.254/', never), refusedFor(/not public/));
  await assert.rejects(
    connection.post('https://127.0.0.1:2/', '{}', never),
    refusedFor(/not public/),
  );
  await assert.rejects(connection.get(directory, never), refusedFor(/ECONNREFUSED/));
});
