import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';

import {
  type Networks,
  openNetworks,
  type WorkloadNetwork,
} from '../../../../../src/programs/runner/network/networks.ts';
import type { WorkloadSpec } from '../../../../../src/protocol/workload.ts';
import { systemClock } from '../../../../../src/lib/clock.ts';
import { eventually } from '../../../../support/eventually.ts';
import { memoryLogger } from '../../../../support/memory-logger.ts';
import { Namespace, networkSpec, visit } from '../../../../support/namespaces.ts';
import { needs, programPath } from '../../../../support/programs.ts';

const missing = needs('root', 'ip', 'iptables', 'unshare', 'nsenter');

function isThere(name: string): boolean {
  return fs.existsSync(`/sys/class/net/${name}`);
}

function interfaceAt(address: string): string {
  const [, , high = '', low = ''] = address.split('.');
  return `gngw${String(Number(high) * 256 + Number(low))}`;
}

function savedRules(): string {
  return execFileSync(programPath('iptables') ?? 'iptables', ['-w', '-t', 'nat', '-S'], {
    encoding: 'utf8',
  });
}

describe('networks of workloads', { skip: missing }, () => {
  let stateDir: string;
  let networks: Networks;
  const logger = memoryLogger();
  const instance = `test-${String(process.pid)}`;
  let spaces: Namespace[];

  const open = async (name = instance): Promise<Networks> => {
    const opened = await openNetworks({ stateDir, instance: name, clock: systemClock, logger });
    assert.ok(!('missing' in opened), JSON.stringify(opened));
    return opened;
  };
  const connect = async (
    more: Partial<WorkloadSpec> = {},
    address: string | null = null,
  ): Promise<{ space: Namespace; network: WorkloadNetwork }> => {
    const space = await Namespace.open();
    spaces.push(space);
    const network = await networks.connect(space.pid, networkSpec(more), address);
    return { space, network };
  };

  before(async () => {
    stateDir = fs.mkdtempSync(path.join(os.tmpdir(), 'gangway-networks-'));
    networks = await open();
  });
  after(() => {
    networks.close();
    fs.rmSync(stateDir, { recursive: true });
  });
  beforeEach(() => {
    spaces = [];
  });
  afterEach(async () => {
    await Promise.all(spaces.map((space) => space.close()));
    assert.deepEqual(logger.events, []);
  });

  it('give a workload an address at which the machine reaches it', async () => {
    const { space, network } = await connect();
    await space.serve('0.0.0.0', 4000, 'hello');
    assert.equal(await visit(network.address, 4000), 'hello 10.213.255.1');
    assert.match(fs.readFileSync(`${network.procNet}/tcp`, 'utf8'), /:0FA0 .* 0A /);
    assert.ok((network.traffic()?.inBytes ?? 0) > 0);
  });

  it('give it a loopback of its own, and lead in to it on demand', async () => {
    const { space, network } = await connect();
    const other = net.createServer((socket) => socket.end('machine')).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as net.AddressInfo;
    assert.equal(await visit('127.0.0.1', port), 'machine');
    assert.equal(await space.visit('127.0.0.1', port), 'no');
    other.close();
    await space.serve('127.0.0.1', 4000, 'own');
    assert.equal(await visit(network.address, 4000), 'no');
    await Promise.all([network.leadIn(4000), network.leadIn(4000)]);
    assert.equal(await visit(network.address, 4000), 'own 10.213.255.1');
    assert.equal(await space.visit('127.0.0.1', 4000), 'own 127.0.0.1');
  });

  it('let no workload reach another, nor link-local addresses, nor the machine by its own', async () => {
    const [one, other] = [await connect(), await connect()];
    await other.space.serve('0.0.0.0', 4000, 'other');
    assert.equal(await visit(other.network.address, 4000), 'other 10.213.255.1');
    assert.equal(await one.space.visit(other.network.address, 4000), 'no');
    const machine = net.createServer((socket) => socket.end('machine')).listen(0, '0.0.0.0');
    await once(machine, 'listening');
    const { port } = machine.address() as net.AddressInfo;
    assert.equal(await one.space.visit('10.213.255.1', port), 'no');
    execFileSync(programPath('ip') ?? 'ip', ['address', 'add', '169.254.77.1/32', 'dev', 'lo']);
    try {
      assert.equal(await visit('169.254.77.1', port), 'machine');
      assert.equal(await one.space.visit('169.254.77.1', port), 'no');
    } finally {
      execFileSync(programPath('ip') ?? 'ip', ['address', 'del', '169.254.77.1/32', 'dev', 'lo']);
      machine.close();
    }
  });

  it('show the machine its own address, and drop what comes under another', async () => {
    const { space, network } = await connect();
    const heard: string[] = [];
    const machine = net.createServer((socket) => {
      heard.push(socket.remoteAddress ?? '');
      socket.end('machine');
    });
    machine.listen(0, '0.0.0.0');
    await once(machine, 'listening');
    const { port } = machine.address() as net.AddressInfo;
    const [own = ''] = Object.values(os.networkInterfaces())
      .flatMap((all) => all ?? [])
      .filter(
        ({ family, address }) => family === 'IPv4' && !/^(127|10\.213|169\.254)\./.test(address),
      )
      .map(({ address }) => address);
    assert.equal(await space.visit(own, port), 'machine');
    assert.deepEqual(heard, [network.address]);
    // Not even root in there.
    const forge = space.spawn([
      ...['sh', '-c'],
      `ip address add 10.213.99.99/32 dev eth0 && ip route replace ${own} dev eth0 via 10.213.255.1 src 10.213.99.99`,
    ]);
    await once(forge, 'exit');
    assert.equal(await space.visit(own, port, 1), 'no');
    assert.deepEqual(heard, [network.address]);
    machine.close();
  });

  it('have no IPv6 but loopback', async () => {
    const { space, network } = await connect();
    const addresses = space.spawn(['cat', '/proc/net/if_inet6']);
    let text = '';
    addresses.stdout.setEncoding('latin1').on('data', (more: string) => (text += more));
    await once(addresses, 'close');
    assert.match(text.trim(), /^0{31}1 \S+ \S+ \S+ \S+ +lo$/);
    const outside = fs.readFileSync('/proc/net/if_inet6', 'latin1');
    assert.doesNotMatch(outside, new RegExp(` ${interfaceAt(network.address)}$`, 'm'));
  });

  it('lead a workload to the databases of its team on its own loopback, and to no others', async () => {
    const [port, other] = [5001, 5002];
    const early = await connect({ team: 'team_a' });
    const database = await connect({ team: 'team_a', port, keepsPort: true });
    await database.space.serve('127.0.0.1', port, 'rows of a');
    const foreign = await connect({ team: 'team_b', port: other, keepsPort: true });
    await foreign.space.serve('127.0.0.1', other, 'rows of b');
    const late = await connect({ team: 'team_a' });
    const stranger = await connect({ team: 'team_b' });
    assert.equal(await late.space.visit('127.0.0.1', port), `rows of a ${late.network.address}`);
    await eventually('the early one is told', async () => {
      const seen = await early.space.visit('127.0.0.1', port);
      return seen === `rows of a ${early.network.address}`;
    });
    assert.equal(await visit(database.network.address, port), 'rows of a 10.213.255.1');
    assert.equal(await database.space.visit('127.0.0.1', port), 'rows of a 127.0.0.1');
    const ways = ['127.0.0.1', '10.213.255.1', database.network.address];
    for (const way of ways) {
      assert.equal(await stranger.space.visit(way, port), 'no', way);
      assert.equal(await foreign.space.visit(way, port), 'no', way);
    }
    for (const way of ['127.0.0.1', '10.213.255.1', foreign.network.address]) {
      assert.equal(await late.space.visit(way, other), 'no', way);
    }
    // What is closed is taken back, and the next one is found at its own address.
    database.network.close();
    await database.space.close();
    await eventually('the way is gone', async () => {
      return (await late.space.visit('10.213.255.1', port)) === 'no';
    });
    const again = await connect({ team: 'team_a', port, keepsPort: true });
    await again.space.serve('127.0.0.1', port, 'rows again');
    assert.equal(await late.space.visit('127.0.0.1', port), `rows again ${late.network.address}`);
    for (const { network } of [early, foreign, late, stranger, again]) network.close();
  });

  it('give an address again when it is free, and another one when it is not', async () => {
    const first = await connect();
    const { address } = first.network;
    const second = await connect({}, address);
    assert.notEqual(second.network.address, address);
    first.network.close();
    await first.space.close();
    await eventually('its pair is gone', () => !isThere(interfaceAt(address)));
    const third = await connect({}, address);
    assert.equal(third.network.address, address);
  });

  it('end with the namespace, also when nobody is left who made them', async () => {
    const { space, network } = await connect();
    assert.ok(isThere(interfaceAt(network.address)));
    network.close();
    await space.close();
    await eventually('the pair is gone', () => !isThere(interfaceAt(network.address)));
  });

  it('refuse a process that has none of its own, and one that has ended', async () => {
    await assert.rejects(networks.connect(process.pid, networkSpec(), null), /none of its own/);
    const space = await Namespace.open();
    const { pid } = space;
    await space.close();
    await assert.rejects(networks.connect(pid, networkSpec(), null), /ENOENT|No such/);
  });

  it('leave few rules on the machine, and remove those of an earlier runner', async () => {
    const crashed = await open('crashed');
    const space = await Namespace.open();
    spaces.push(space);
    await crashed.connect(space.pid, networkSpec({ team: 't', port: 5003, keepsPort: true }), null);
    const own = (rules: string): string[] =>
      rules.split('\n').filter((line) => line.includes('5003'));
    assert.equal(own(savedRules()).length, 1);
    // Its successor knows nothing but the name.
    const others = savedRules().split('\n').length;
    await open('crashed');
    assert.equal(own(savedRules()).length, 0);
    const left = savedRules();
    assert.ok(left.split('\n').length < others);
    await Promise.all([open('second'), open('third'), open('fourth')]);
    assert.equal(left.match(/-j GANGWAY-OUT$/gm)?.length, 1);
  });

  it('show programs the names of the machine, and their own', () => {
    const files = networks.filesOf(stateDir, 'app-1');
    const text = (name: string): string =>
      fs.readFileSync(files.find(({ to }) => to === name)?.from ?? '', 'utf8');
    assert.match(text('/etc/hosts'), /^127\.0\.0\.1 localhost\n127\.0\.0\.1 app-1$/m);
    assert.doesNotMatch(text('/etc/hosts'), /^::1/m);
    assert.doesNotMatch(text('/etc/resolv.conf'), /nameserver 127/);
  });

  it('come back when somebody has flushed all rules, and make no router of the machine', () => {
    // In a network of its own: the rules of this machine are not to be played with.
    const child = new URL('../../../../support/network-child.ts', import.meta.url);
    const script = ['--net', '--mount', process.execPath, fileURLToPath(child), stateDir];
    const said = execFileSync(programPath('unshare') ?? 'unshare', script, { encoding: 'utf8' });
    const {
      before: first,
      flushed,
      after: last,
      isForwarding,
    } = JSON.parse(said) as Record<string, string>;
    assert.match(first ?? '', /:FORWARD DROP/);
    assert.equal(isForwarding, '1');
    assert.doesNotMatch(flushed ?? '', /GANGWAY|GWI/);
    const rules = (text = ''): string[] =>
      text.split('\n').filter((line) => line.startsWith('-A '));
    assert.ok(rules(first).some((rule) => rule.includes('--to-destination')));
    assert.deepEqual(rules(last), rules(first));
  });
});
