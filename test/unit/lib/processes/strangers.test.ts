import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { hasStrangers } from '../../../../src/lib/processes/strangers.ts';

const head =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
const row = (to: string, state: string, uid: number, inode: number, from = '0100007F'): string =>
  `   0: ${from}:9000 ${to} ${state} 00000000:00000000 00:00000000 00000000 ${String(uid).padStart(5)}        0 ${String(inode)} 1 0 100 0 0 10 0`;

it('hasStrangers() tells whether an app has a connection to a port of loopback', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'gangway-proc-'));
  t.after(() => {
    rmSync(dir, { recursive: true });
  });
  assert.equal(hasStrangers(8000, dir), false);
  const us = '0100007F:1F40';
  const mapped = '0000000000000000FFFF0000';
  const six = '00000000000000000000000001000000';
  const look = (...rows: string[]): boolean => {
    writeFileSync(join(dir, 'tcp'), [head, ...rows, ''].join('\n'));
    writeFileSync(join(dir, 'tcp6'), [head, ...rows, ''].join('\n'));
    return hasStrangers(8000, dir);
  };
  const owners = [
    row(us, '01', 1000, 1),
    row(us, '01', 0, 2),
    row(`${six}:1F40`, '01', 1000, 3, six),
  ];
  assert.equal(look(...owners), false);
  // Nobody is behind it any more; another port; another machine.
  assert.equal(look(...owners, row(us, '06', 0, 0)), false);
  assert.equal(look(...owners, row('0100007F:1F41', '01', 200_001, 4)), false);
  assert.equal(look(...owners, row('0A0B0C0D:1F40', '01', 200_001, 4)), false);
  for (const stranger of [
    row(us, '01', 200_001, 4),
    row(us, '02', 309_999, 4),
    row('0100007F:1F40', '05', 0, 0),
    row('0500007F:1F40', '01', 200_001, 4),
    row(`${mapped}0100007F:1F40`, '01', 200_001, 4, `${mapped}0100007F`),
    row(`${six}:1F40`, '01', 200_001, 4, six),
  ]) {
    assert.equal(look(...owners, stranger), true, stranger);
  }
  // More than is looked at.
  assert.equal(
    look(...Array.from({ length: 80_000 }, (_, at) => row(us, '01', 1000, at + 1))),
    true,
  );
});
