/**
 * Owns the machine's rules that lead workloads to databases of their team, for `iptables-restore`. Their chains
 * are named after the instance, so that what a runner left is found by the next one.
 *
 * A workload asks the machine's address at the database's port. By the interface that it comes from it
 * belongs to a team, and the databases of that team alone are led to from there.
 */
import { createHash } from 'node:crypto';

import { anyWorkload, machineAddress } from './addresses.ts';
import { rulesIn } from './machine-rules.ts';

export interface Team {
  id: string;
  /** The machine's ends of the pairs of its workloads. */
  interfaces: readonly string[];
  databases: readonly { address: string; port: number }[];
}

function short(text: string, length: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, length);
}

export class TeamChains {
  readonly #instance: string;
  readonly #all: string;
  readonly #jump: string;

  constructor(instance: string) {
    this.#instance = short(instance, 10);
    this.#all = `GWI-${this.#instance}`;
    this.#jump = `PREROUTING -d ${machineAddress}/32 -i ${anyWorkload} -p tcp -j ${this.#all}`;
  }

  /** Rules for these teams in place of those for the teams `before`; the first time there are none. */
  replace(teams: readonly Team[], before: ReadonlySet<string> | null): string {
    const now = new Set(teams.map(({ id }) => id));
    const gone = [...(before ?? [])].filter((id) => !now.has(id)).map((id) => this.#chainOf(id));
    return text([
      `:${this.#all} - [0:0]`,
      ...teams.map(({ id }) => `:${this.#chainOf(id)} - [0:0]`),
      ...teams.flatMap((team) => this.#rulesOf(team)),
      ...gone.flatMap((chain) => [`-F ${chain}`, `-X ${chain}`]),
      ...(before === null ? [`-I ${this.#jump}`] : []),
    ]);
  }

  /** Removes the rules for these teams, and all else of this instance. */
  remove(before: ReadonlySet<string>): string {
    const chains = [this.#all, ...[...before].map((id) => this.#chainOf(id))];
    return removal([this.#jump], chains);
  }

  /** Whether rules of this instance are there. */
  areThere(saved: string): boolean {
    return rulesIn(saved, 'nat').includes(`-A ${this.#jump}`);
  }

  /**
   * Removes what an earlier runner left, also of other instances, whose runner was killed: none of their
   * interfaces is there. Empty when there is nothing.
   */
  sweep(saved: string, isThere: (name: string) => boolean): string {
    const lines = rulesIn(saved, 'nat');
    const chains = lines.flatMap((line) => /^:(GW[IT]-\S+) /.exec(line)?.[1] ?? []);
    const used = new Set(
      lines.flatMap((line) => {
        const [, instance, name = ''] = /^-A GWI-(\S+) -i (\S+) /.exec(line) ?? [];
        return instance !== undefined && isThere(name) ? [instance] : [];
      }),
    );
    used.delete(this.#instance);
    const isLeft = (chain: string): boolean => !used.has(chain.split('-')[1] ?? '');
    const left = chains.filter(isLeft);
    if (left.length === 0) return '';
    const jumps = lines.flatMap((line) => {
      const [, jump = '', chain = ''] = /^-A (PREROUTING .* -j (GWI-\S+))$/.exec(line) ?? [];
      return left.includes(chain) ? [jump] : [];
    });
    return removal(jumps, left);
  }

  #rulesOf({ id, interfaces, databases }: Team): string[] {
    const chain = this.#chainOf(id);
    return [
      ...interfaces.map((name) => `-A ${this.#all} -i ${name} -j ${chain}`),
      ...databases.map(({ address, port }) => {
        const to = `${address}:${String(port)}`;
        return `-A ${chain} -p tcp --dport ${String(port)} -j DNAT --to-destination ${to}`;
      }),
    ];
  }

  #chainOf(team: string): string {
    return `GWT-${this.#instance}-${short(team, 12)}`;
  }
}

function removal(jumps: readonly string[], chains: readonly string[]): string {
  return text([
    ...jumps.map((jump) => `-D ${jump}`),
    ...chains.map((chain) => `-F ${chain}`),
    ...chains.map((chain) => `-X ${chain}`),
  ]);
}

function text(rules: readonly string[]): string {
  return ['*nat', ...rules, 'COMMIT', ''].join('\n');
}
