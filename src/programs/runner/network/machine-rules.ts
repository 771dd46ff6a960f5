/**
 * Owns the rules by which the machine forwards for workloads, for `iptables-restore`. They are the same
 * for all instances of Gangway on it, and stay.
 *
 * 1. A workload reaches what is outside the machine, by its address, and what listens on an address of the machine
 *    that others reach, too. It does not reach other workloads, link-local addresses, nor networks of
 *    containers unless their own rules say so.
 * 2. A packet that the machine has led from one workload to another on purpose (see `team-rules.ts`) may pass.
 * 3. Nobody outside the machine opens a connection to a workload.
 * 4. A workload sends under its own address alone.
 * 5. What the kernel remembers of connections is bounded for each workload, so that there is room for others'.
 */
import { workloadNetwork } from '../../../lib/networks.ts';
import { anyWorkload, machineAddress } from './addresses.ts';

interface Table {
  name: 'raw' | 'filter' | 'nat';
  /** Chains of ours, their rules, and the rules that lead there from chains of the kernel. */
  chains: readonly { name: string; rules: readonly string[]; jump?: string }[];
}

const linkLocal = '169.254.0.0/16';
/** At once, so that nobody waits for an answer: an error by ICMP alone is not heard by who is about to connect. */
const refusals = [
  '-p tcp -j REJECT --reject-with tcp-reset',
  '-j REJECT --reject-with icmp-admin-prohibited',
];
/** New connections of one workload, and those that it has open. The kernel remembers some 100,000 and more. */
const newMax = '--hashlimit-above 500/sec --hashlimit-burst 5000';
const openMax = 4096;
/** Those of Docker. */
const containerNetworks = ['docker+', 'br-+'];

/** `nameServers`: addresses that workloads ask for names. */
function machineTables(nameServers: readonly string[]): Table[] {
  // Some clouds have theirs beside what tells machines their secrets.
  const asked = nameServers.filter((address) => address.startsWith('169.254.'));
  const names = asked.flatMap((address) =>
    ['udp', 'tcp'].map((protocol) => `-d ${address} -p ${protocol} --dport 53 -j ACCEPT`),
  );
  const from = `-i ${anyWorkload}`;
  const counted = '-m conntrack --ctstate NEW -j GANGWAY-NEW';
  return [
    {
      name: 'raw',
      chains: [
        {
          name: 'GANGWAY-SOURCES',
          jump: `PREROUTING ${from}`,
          rules: ['-m rpfilter --invert -j DROP'],
        },
      ],
    },
    {
      name: 'filter',
      chains: [
        {
          name: 'GANGWAY-NEW',
          rules: [
            `-m hashlimit --hashlimit-name gangway --hashlimit-mode srcip ${newMax} -j DROP`,
            `-p tcp -m connlimit --connlimit-saddr --connlimit-above ${String(openMax)} -j DROP`,
          ],
        },
        {
          name: 'GANGWAY-FORWARD',
          jump: 'FORWARD',
          rules: [
            `${from} ${counted}`,
            `${from} -o ${anyWorkload} -m conntrack --ctstate DNAT -j ACCEPT`,
            ...names.map((rule) => `${from} ${rule}`),
            ...[workloadNetwork, linkLocal].flatMap((network) => refused(`${from} -d ${network}`)),
            ...containerNetworks.map((network) => `${from} -o ${network} -j RETURN`),
            `${from} -j ACCEPT`,
            `-o ${anyWorkload} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`,
            `-o ${anyWorkload} -j DROP`,
          ],
        },
        {
          name: 'GANGWAY-INPUT',
          jump: `INPUT ${from}`,
          rules: [
            counted,
            ...names,
            ...refused(`-d ${linkLocal}`),
            // Only databases are reached there, and what leads to them is no input. Answers are.
            `-d ${machineAddress} -p tcp --syn -j REJECT --reject-with tcp-reset`,
            `-d ${machineAddress} -p udp -j REJECT`,
          ],
        },
      ],
    },
    {
      name: 'nat',
      chains: [
        {
          name: 'GANGWAY-OUT',
          jump: 'POSTROUTING',
          rules: [`-s ${workloadNetwork} ! -o ${anyWorkload} -j MASQUERADE`],
        },
      ],
    },
  ];
}

function refused(what: string): string[] {
  return refusals.map((refusal) => `${what} ${refusal}`);
}

interface Wanted {
  nameServers: readonly string[];
  /** Whether the machine has forwarded for nobody so far: then it goes on to forward for no others. */
  isNoRouter: boolean;
}

/** What sets the rules, each table at once; `saved`: the rules that are there, as `iptables-save` says them. */
export function machineRules(saved: string, { nameServers, isNoRouter }: Wanted): string {
  const lines = machineTables(nameServers).flatMap(({ name, chains }) => [
    `*${name}`,
    ...(name === 'filter' && isNoRouter ? [':FORWARD DROP [0:0]'] : []),
    ...chains.map((chain) => `:${chain.name} - [0:0]`),
    ...chains.flatMap((chain) => chain.rules.map((rule) => `-A ${chain.name} ${rule}`)),
    ...chains.flatMap(({ name: to, jump }) =>
      jump === undefined ? [] : jumpFirst(saved, name, `${jump} -j ${to}`),
    ),
    'COMMIT',
  ]);
  return `${lines.join('\n')}\n`;
}

/**
 * Puts a rule before all others of its chain, unless it is there, once: two runners that start at the same
 * moment both put it, and each packet would be looked at twice.
 */
function jumpFirst(saved: string, table: string, rule: string): string[] {
  const [chain = ''] = rule.split(' ', 1);
  const there = rulesIn(saved, table).filter((line) => line.startsWith(`-A ${chain} `));
  const own = there.filter((line) => line === `-A ${rule}`);
  if (own.length === 1 && there[0] === own[0]) return [];
  return [...own.map(() => `-D ${rule}`), `-I ${rule}`];
}

/** Those of one table, of all that `iptables-save` says. */
export function rulesIn(saved: string, table: string): string[] {
  const lines = saved.split('\n');
  const start = lines.indexOf(`*${table}`);
  if (start === -1) return [];
  return lines.slice(start + 1, lines.indexOf('COMMIT', start));
}

/** Whether what leads to our rules has not been removed by others, nor pushed behind theirs. */
export function areThere(saved: string): boolean {
  return machineTables([]).every(({ name, chains }) =>
    chains.every(
      ({ name: to, jump }) =>
        jump === undefined || jumpFirst(saved, name, `${jump} -j ${to}`).length === 0,
    ),
  );
}
