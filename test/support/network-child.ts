/** Opens networks in the network it is started in, and says which rules there are before and after a flush. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';

import { openNetworks } from '../../src/programs/runner/network/networks.ts';
import { eventually } from './eventually.ts';
import { ManualClock } from './manual-clock.ts';
import { Namespace, networkSpec } from './namespaces.ts';
import { noLog } from './runner.ts';

const [stateDir = ''] = process.argv.slice(2);
const forward = '/proc/sys/net/ipv4/ip_forward';
const saved = (): string =>
  execFileSync('iptables-save', { encoding: 'utf8' }).replace(/^#.*\n/gm, '');

const clock = new ManualClock();
// A fresh network forwards as the machine does.
fs.writeFileSync(forward, '0');
const networks = await openNetworks({ stateDir, instance: 'child', clock, logger: noLog });
if ('missing' in networks) throw new Error(networks.missing);
const space = await Namespace.open();
try {
  const spec = networkSpec({ team: 'team_a', port: 5000, keepsPort: true });
  await networks.connect(space.pid, spec, null);
  const before = saved();
  const policies = ['*filter', ':FORWARD DROP [0:0]', 'COMMIT'];
  const empty = ['*raw', 'COMMIT', ...policies, '*nat', 'COMMIT', ''].join('\n');
  execFileSync('iptables-restore', { input: empty });
  fs.writeFileSync(forward, '0');
  const flushed = saved();
  await clock.advance(60_000);
  await eventually('the rules are back', () => saved().includes('--to-destination'));
  const isForwarding = fs.readFileSync(forward, 'utf8').trim();
  process.stdout.write(JSON.stringify({ before, flushed, after: saved(), isForwarding }));
} finally {
  networks.close();
  await space.close();
}
