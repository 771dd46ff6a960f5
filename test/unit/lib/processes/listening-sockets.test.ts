import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { listeningSockets } from '../../../../src/lib/processes/listening-sockets.ts';

const head =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
const row = (local: string, state: string, inode: number): string =>
  `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000     0        0 ${String(inode)} 1 0 100 0 0 10 0`;

function procDir(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'gangway-proc-'));
  t.after(() => {
    rmSync(dir, { recursive: true });
  });
  return dir;
}

it('listeningSockets() tells who listens, and writes addresses as people do', async (t) => {
  const dir = procDir(t);
  assert.deepEqual(await listeningSockets(dir), []);
  const twice = row('0100007F:1F40', '0A', 11);
  const v4 = [twice, row('00000000:0050', '0A', 12), twice];
  writeFileSync(join(dir, 'tcp'), [head, ...v4, row('0100007F:1F40', '01', 13), ''].join('\n'));
  const zeros = '0'.repeat(24);
  const v6 = [
    row(`${zeros}00000000:1F41`, '0A', 21),
    row(`${zeros}01000000:1F42`, '0A', 22),
    row('0000000000000000FFFF00000100007F:1F43', '0A', 23),
    row('B80D0120000000000000000001000000:1F44', '0A', 24),
  ];
  writeFileSync(join(dir, 'tcp6'), [head, ...v6, ''].join('\n'));
  assert.deepEqual(
    (await listeningSockets(dir)).map(
      ({ address, port, inode }) => `${address} ${String(port)} ${inode}`,
    ),
    [
      '127.0.0.1 8000 11',
      '0.0.0.0 80 12',
      ':: 8001 21',
      '::1 8002 22',
      '127.0.0.1 8003 23',
      '2001:db8::1 8004 24',
    ],
  );
});

it('listeningSockets() does not read a table that holds no socket', async (t) => {
  const dir = procDir(t);
  writeFileSync(join(dir, 'tcp'), [head, row('00000000:0050', '0A', 1), ''].join('\n'));
  writeFileSync(join(dir, 'tcp6'), [head, row(`${'0'.repeat(32)}:0051`, '0A', 2), ''].join('\n'));
  const count = async (v4: number, v6: number): Promise<number> => {
    const ofAll = `TCP: inuse ${String(v4)} orphan 0 tw 3 alloc 2 mem 1`;
    writeFileSync(join(dir, 'sockstat'), `sockets: used 9\n${ofAll}\nUDP: inuse 0 mem 0\n`);
    writeFileSync(join(dir, 'sockstat6'), `TCP6: inuse ${String(v6)}\nUDP6: inuse 0\n`);
    return (await listeningSockets(dir)).length;
  };
  assert.deepEqual([await count(0, 0), await count(10, 0), await count(0, 10)], [0, 1, 1]);
});

it('listeningSockets() leaves the loop to others while the kernel takes its time', async (t) => {
  const dir = procDir(t);
  const file = join(dir, 'tcp');
  execFileSync('mkfifo', [file]);
  const sockets = listeningSockets(dir);
  // Whoever waits for this file does so until here.
  const writer = await open(file, 'w');
  await writer.writeFile([head, row('00000000:0050', '0A', 1), ''].join('\n'));
  await writer.close();
  assert.deepEqual(
    (await sockets).map(({ port }) => port),
    [80],
  );
});
