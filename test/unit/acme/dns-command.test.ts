import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { DnsCommand, DnsCommandFailed } from '../../../src/acme/dns-command.ts';
import { eventually } from '../../support/eventually.ts';
import { needs } from '../../support/programs.ts';

const never = new AbortController().signal;
const name = '_acme-challenge.shop.example';

describe('DnsCommand', () => {
  let dir: string;

  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'gangway-dns-command-'));
    chmodSync(dir, 0o777);
  });
  after(() => rmSync(dir, { recursive: true }));

  function command(script: string, timeoutMs = 30_000): { program: string; command: DnsCommand } {
    const program = join(dir, 'program');
    rmSync(program, { force: true });
    writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return { program, command: new DnsCommand({ program, timeoutMs }) };
  }

  it('gives the program the verb, the name and the value, and none of our variables', async () => {
    const { command: one } = command(`printf '%s\\n' "$@" > ${dir}/said; env >> ${dir}/said`);
    await one.set(name, 'a; $(id) "b"', never);
    const [verb, ...said] = readFileSync(join(dir, 'said'), 'utf8').split('\n');
    assert.deepEqual([verb, ...said.slice(0, 2)], ['set', name, 'a; $(id) "b"']);
    assert.ok(!said.some((line) => line.startsWith('HOME=') || line.startsWith('GANGWAY')));
  });

  it('says what the program says when it fails, within bounds', async () => {
    const { command: one } = command('echo no such zone >&2; exit 3');
    await assert.rejects(
      one.unset(name, 'v', never),
      (error) =>
        error instanceof DnsCommandFailed && /unset _acme.*no such zone/.test(error.message),
    );
    const { command: loud } = command('head -c 100000 /dev/zero | tr "\\0" x; exit 1');
    await assert.rejects(loud.set(name, 'v', never), (error) => String(error).length < 1000);
    const missing = new DnsCommand({ program: join(dir, 'nothing') });
    await assert.rejects(missing.set(name, 'v', never), DnsCommandFailed);
  });

  it('ends the program, and what it started, at its time and with the signal', async () => {
    const { command: slow } = command(`sleep 1000 & echo $! > ${dir}/pid; wait`, 300);
    await assert.rejects(slow.set(name, 'v', never), /too long/);
    const pid = Number(readFileSync(join(dir, 'pid'), 'utf8'));
    await eventually('the end of what it started', () => !lives(pid));
    const stop = new AbortController();
    const { command: patient } = command(`touch ${dir}/begun; sleep 1000`);
    const run = patient.set(name, 'v', stop.signal);
    run.catch(() => undefined);
    stop.abort(new Error('stopped'));
    await assert.rejects(run, /stopped/);
  });

  it(
    'is not root where we are: the owner of the file, or nobody',
    { skip: needs('root') },
    async () => {
      const { program, command: one } = command(`id -u > ${dir}/uid.$(id -u)`);
      await one.set(name, 'v', never);
      assert.equal(readFileSync(join(dir, 'uid.65534'), 'utf8'), '65534\n');
      chownSync(program, 12_345, 12_345);
      await one.set(name, 'v', never);
      assert.equal(readFileSync(join(dir, 'uid.12345'), 'utf8'), '12345\n');
    },
  );
});

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${String(pid)}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}
