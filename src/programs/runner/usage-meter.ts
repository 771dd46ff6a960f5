/** Owns what one workload uses: counted by its control groups, else summed up over its processes. */
import { memberPids, type Membership } from '../../lib/processes/processes.ts';
import type { Usage } from '../../protocol/workload.ts';
import type { Confinement, GroupUsage } from './limits/confinement.ts';
import type { WorkloadNetwork } from './network/networks.ts';
import { usageOf } from './limits/limits.ts';

export class UsageMeter {
  readonly #confinement: Confinement;
  /** What has ended must not be taken off again. */
  #countedCpuNs = 0;

  constructor(confinement: Confinement) {
    this.#confinement = confinement;
  }

  /** `network`: its own; null: it has the machine's. */
  read(membership: Membership, network: Pick<WorkloadNetwork, 'traffic'> | null): Usage {
    const { cpuNs, memoryBytes } = this.#confinement.usage() ?? this.#sum(membership);
    const { inBytes = null, outBytes = null } = network?.traffic() ?? {};
    return { cpuNs, memoryBytes, networkInBytes: inBytes, networkOutBytes: outBytes };
  }

  #sum(membership: Membership): GroupUsage {
    const { cpuNs, memoryBytes } = usageOf(memberPids(membership));
    this.#countedCpuNs = Math.max(this.#countedCpuNs, cpuNs);
    return { cpuNs: this.#countedCpuNs, memoryBytes };
  }
}
