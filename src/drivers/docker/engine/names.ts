/**
 * Owns the names of our things on a daemon, and the labels by which they are recognised.
 *
 * 1. What lacks the label of this data directory is never touched.
 * 2. The labels hold all of a specification that is needed after a restart. They never hold variables.
 */
import { ServiceError } from '../../../lib/errors.ts';
import type { Workload, WorkloadSpec } from '../../../protocol/workload.ts';

export const label = {
  instance: 'gangway.instance',
  workload: 'gangway.workload',
  owner: 'gangway.owner',
  kind: 'gangway.kind',
  port: 'gangway.port',
  innerPort: 'gangway.inner-port',
  deadline: 'gangway.deadline-ms',
  grace: 'gangway.grace-ms',
  /**
   * On a container: its own address. On a network: that its containers may have addresses of their own.
   */
  address: 'gangway.address',
  /** On a container that is made to reach the files of volumes. */
  volumes: 'gangway.volumes',
} as const;

export type Labels = Readonly<Record<string, string>>;

/** What the labels tell of a workload. */
export type KnownSpec = Pick<
  WorkloadSpec,
  'id' | 'owner' | 'kind' | 'port' | 'deadlineMs' | 'stopGraceMs'
> & {
  innerPort: number | null;
  /** Its own address in its network; null where its port is published. */
  address: string | null;
};

const idPattern = /^[a-z0-9_-]{2,64}$/;
const tagMax = 128;

export function checkId(what: string, id: string): void {
  if (!idPattern.test(id)) {
    throw new ServiceError('BAD_USER_INPUT', `The ${what} is [a-z0-9_-]{2,64}.`);
  }
}

/** The part of a specification that other parts of the program know. */
export function shortOf({ id, owner, kind, port }: Workload['spec']): Workload['spec'] {
  return { id, owner, kind, port };
}

export class Names {
  /** Name of the data directory; `[a-z0-9-]+`. */
  readonly instance: string;

  constructor(instance: string) {
    if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(instance)) {
      throw new Error('Cannot name containers: the instance is no [a-z0-9-]+');
    }
    this.instance = instance;
  }

  container(id: string): string {
    return `gangway-${this.instance}-${id}`;
  }

  volume(name: string): string {
    return `gangway-${this.instance}-${name}`;
  }

  /** `name` null: the network of all workloads without a network of their own. */
  network(name: string | null): string {
    return `gangway-${this.instance}-${name === null ? 'alone' : `net-${name}`}`;
  }

  isNetwork(network: string): boolean {
    return network.startsWith(`gangway-${this.instance}-`);
  }

  get repository(): string {
    return `gangway-${this.instance}`;
  }

  /** Whether it is an image of this Gangway or of another one: it may belong to another team. */
  isImage(reference: string): boolean {
    const short = reference.replace(/^(index\.)?docker\.io\//, '').replace(/^library\//, '');
    const repository = short.split(/[:@]/)[0] ?? '';
    return repository === this.repository || /^gangway-[0-9a-f]{16}$/.test(repository);
  }

  image(owner: string, name: string): string {
    checkId('owner of an image', owner);
    checkId('name of an image', name);
    const tag = `${owner}.${name}`;
    if (tag.length > tagMax) throw new ServiceError('BAD_USER_INPUT', 'The name is too long.');
    return `${this.repository}:${tag}`;
  }

  mark(owner?: string): Record<string, string> {
    return {
      [label.instance]: this.instance,
      ...(owner !== undefined && { [label.owner]: owner }),
    };
  }

  /** `mark` as the daemon is asked for what has it. */
  markFilter(owner?: string): string[] {
    return Object.entries(this.mark(owner)).map(([key, value]) => `${key}=${value}`);
  }

  /** What the daemon is asked for, to be told of our workloads alone, or of one. */
  labelFilter(id?: string): string[] {
    const workload = id === undefined ? label.workload : `${label.workload}=${id}`;
    return [`${label.instance}=${this.instance}`, workload];
  }

  isOurs(labels: Labels | null | undefined): boolean {
    return labels?.[label.instance] === this.instance;
  }

  labelsOf(spec: WorkloadSpec, address: string | null = null): Record<string, string> {
    const innerPort = spec.container?.port ?? spec.port;
    return {
      ...this.mark(spec.owner),
      [label.workload]: spec.id,
      [label.kind]: spec.kind,
      [label.grace]: String(spec.stopGraceMs),
      // Missing values are set, too: else a label of the image, which may be anything, would count.
      [label.port]: String(spec.port ?? ''),
      [label.innerPort]: String(innerPort ?? ''),
      [label.deadline]: String(spec.deadlineMs ?? ''),
      [label.address]: address ?? '',
    };
  }

  /** Undefined for what is no workload of ours. */
  specOf(labels: Labels | null | undefined): KnownSpec | undefined {
    const id = labels?.[label.workload];
    if (!labels || id === undefined || !this.isOurs(labels)) return undefined;
    const numberAt = (name: string): number | null =>
      labels[name] === undefined || labels[name] === '' ? null : Number(labels[name]);
    return {
      id,
      owner: labels[label.owner] ?? '',
      kind: labels[label.kind] === 'service' ? 'service' : 'job',
      port: numberAt(label.port),
      innerPort: numberAt(label.innerPort),
      address: labels[label.address] || null,
      deadlineMs: numberAt(label.deadline),
      stopGraceMs: numberAt(label.grace) ?? 0,
    };
  }
}
