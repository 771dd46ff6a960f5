import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import {
  addressOf,
  numberOf,
  workloadNumbers,
} from '../../../../../src/programs/runner/network/addresses.ts';
import { machineRules } from '../../../../../src/programs/runner/network/machine-rules.ts';
import { hostsText } from '../../../../../src/programs/runner/network/name-files.ts';
import { TeamChains } from '../../../../../src/programs/runner/network/team-rules.ts';

describe('addresses of workloads', () => {
  it('are as many as their numbers, and none is the machine’s or a whole network’s', () => {
    const seen = new Set<string>();
    for (const number of workloadNumbers(1)) {
      const address = addressOf(number);
      if (seen.has(address)) break;
      assert.equal(numberOf(address), number);
      assert.doesNotMatch(address, /^10\.213\.(255\.\d+|\d+\.(0|255))$/);
      seen.add(address);
    }
    assert.equal(seen.size, 255 * 254);
  });

  it('are known from others', () => {
    for (const other of [
      '10.213.255.1',
      '10.213.0.0',
      '10.212.0.1',
      '10.213.1',
      '10.213.01.1',
      '',
    ]) {
      assert.equal(numberOf(other), undefined, other);
    }
  });
});

describe('rules of the machine', () => {
  const none = '*filter\n:FORWARD ACCEPT [0:0]\nCOMMIT\n';
  const jumps = (saved: string): string[] =>
    machineRules(saved, { nameServers: [], isNoRouter: false })
      .split('\n')
      .filter((line) => /^-[ID] FORWARD /.test(line));

  it('come before all others', () => {
    assert.deepEqual(jumps(none), ['-I FORWARD -j GANGWAY-FORWARD']);
    const own = '-A FORWARD -j GANGWAY-FORWARD';
    const other = '-A FORWARD -j DROP';
    assert.deepEqual(jumps(`*filter\n${own}\n${other}\nCOMMIT\n`), []);
    assert.deepEqual(jumps(`*filter\n${other}\n${own}\nCOMMIT\n`), [
      '-D FORWARD -j GANGWAY-FORWARD',
      '-I FORWARD -j GANGWAY-FORWARD',
    ]);
    assert.deepEqual(jumps(`*filter\n${own}\n${own}\n${other}\nCOMMIT\n`), [
      '-D FORWARD -j GANGWAY-FORWARD',
      '-D FORWARD -j GANGWAY-FORWARD',
      '-I FORWARD -j GANGWAY-FORWARD',
    ]);
  });

  it('make no router of a machine that was none', () => {
    const wanted = { nameServers: [], isNoRouter: true };
    assert.match(machineRules(none, wanted), /^:FORWARD DROP /m);
    assert.doesNotMatch(machineRules(none, { ...wanted, isNoRouter: false }), /:FORWARD/);
  });

  it('let workloads ask a name server beside what tells the secrets of a machine', () => {
    const lines = machineRules(none, {
      nameServers: ['169.254.169.253', '192.0.2.1'],
      isNoRouter: false,
    }).split('\n');
    const accept = '-A GANGWAY-FORWARD -i gngw+ -d 169.254.169.253 -p udp --dport 53 -j ACCEPT';
    const refuse = lines.findIndex((line) => line.includes('-d 169.254.0.0/16'));
    assert.ok(lines.includes(accept) && lines.indexOf(accept) < refuse);
    assert.ok(!lines.some((line) => line.includes('192.0.2.1')));
  });
});

describe('rules of teams', () => {
  const team = {
    id: 'team_a',
    interfaces: ['gngw1'],
    databases: [{ address: '10.213.0.2', port: 9 }],
  };

  it('are swept by their instance, and by others once none of its interfaces is there', () => {
    const [own, other] = [new TeamChains('own'), new TeamChains('other')];
    const saved = own.replace([team], null).replaceAll('-I ', '-A ');
    assert.ok(own.areThere(saved));
    assert.equal(other.areThere(saved), false);
    const live = (name: string): boolean => name === 'gngw1';
    assert.equal(other.sweep(saved, live), '');
    for (const swept of [own.sweep(saved, live), other.sweep(saved, () => false)]) {
      assert.equal(swept.match(/^-X GW[IT]-/gm)?.length, 2);
      assert.equal(swept.match(/^-D PREROUTING /gm)?.length, 1);
    }
  });

  it('of a team without databases are removed', () => {
    const chains = new TeamChains('own');
    const chain = /^:(GWT-\S+)/m.exec(chains.replace([team], null))?.[1] ?? '';
    const text = chains.replace([], new Set(['team_a']));
    assert.ok(text.includes(`-F ${chain}\n-X ${chain}\n`));
    assert.doesNotMatch(text, /PREROUTING/);
  });
});

it('hostsText() keeps what the machine calls others, and makes localhost an IPv4 address', () => {
  const machine = `127.0.0.1 localhost web # ours
::1 localhost ip6-localhost
127.0.1.1\tbox.example box

192.0.2.7 store`;
  assert.equal(
    hostsText(machine, 'app-1'),
    '127.0.0.1 localhost\n127.0.0.1 app-1\n127.0.0.1 web\n127.0.1.1 box.example box\n192.0.2.7 store\n',
  );
});
