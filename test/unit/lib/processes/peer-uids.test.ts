import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { PeerUids } from '../../../../src/lib/processes/peer-uids.ts';
import { needs } from '../../../support/programs.ts';

const head =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
const row = (ends: string, state: string, uid: number, inode: number): string =>
  `   0: ${ends} ${state} 00000000:00000000 00:00000000 00000000 ${String(uid).padStart(5)}        0 ${String(inode)} 1 0 100 0 0 10 0`;
const here = { localAddress: '127.0.0.1', localPort: 0x1f40 };

it('PeerUids tells whose socket is at the other end, and of nobody for one that is closed', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'gangway-proc-'));
  t.after(() => {
    rmSync(dir, { recursive: true });
  });
  const peers = new PeerUids(dir);
  const from = (remotePort: number, remoteAddress = '127.0.0.1'): Promise<number | undefined> =>
    peers.of({ ...here, remoteAddress, remotePort });
  assert.equal(await from(1), undefined);
  const to = '0100007F:1F40';
  const mapped = '0000000000000000FFFF0000';
  const v4 = [
    row(`${to} 00000000:0000`, '0A', 7, 10),
    // Our own ends.
    row(`${to} 0100007F:0001`, '01', 0, 11),
    row(`0100007F:0001 ${to}`, '01', 200_001, 12),
    row(`0100007F:0002 ${to}`, '05', 200_002, 13),
    // Not connected yet; closed by its program; to another port.
    row(`0100007F:0003 ${to}`, '02', 200_003, 14),
    row(`0100007F:0004 ${to}`, '05', 0, 0),
    row(`0100007F:0005 0100007F:1F41`, '01', 200_005, 15),
  ];
  writeFileSync(join(dir, 'tcp'), [head, ...v4, ''].join('\n'));
  const v6 = [row(`${mapped}0100007F:0006 ${mapped}${to}`, '01', 200_006, 16)];
  writeFileSync(join(dir, 'tcp6'), [head, ...v6, ''].join('\n'));
  const asked = [1, 2, 3, 4, 5, 6].map((port) => from(port));
  assert.deepEqual(await Promise.all(asked), [
    ...[200_001, 200_002, undefined, undefined, undefined, 200_006],
  ]);
  assert.equal(await from(1, '::ffff:127.0.0.1'), 200_001);
  assert.equal(await from(1, '::1'), undefined);
});

it('PeerUids tells programs of others by their sockets', { skip: needs('root') }, async (t) => {
  const server = net.createServer().listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const script = `require('node:net').connect(${String(port)}, '127.0.0.1').on('end', () => process.exit())`;
  const [uid, gid, cwd] = [219_001, 219_001, '/'];
  const child = spawn(process.execPath, ['-e', script], { uid, gid, cwd, stdio: 'inherit' });
  t.after(() => child.kill());
  const [socket] = (await once(server, 'connection')) as [net.Socket];
  assert.equal(await new PeerUids().of(socket), uid);
  socket.end();
});
