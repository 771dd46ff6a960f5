/**
 * Owns what things of ours are called on a daemon, and the labels they are known by.
 *
 * 1. What lacks the label of this data directory is never touched.
 * 2. All of a specification that is needed after a restart stands in labels; variables never do.
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
  /** Of a container: the one that is its own. Of a network: that it has such. */
  address: 'gangway.address',
} as const;

export type Labels = Readonly<Record<string, string>>;

/** What is known of a workload by its labels alone. */
export type KnownSpec = Pick<
  WorkloadSpec,
  'id' | 'owner' | 'kind' | 'port' | 'deadlineMs' | 'stopGraceMs'
> & {
  innerPort: number | null;
  /** Its own in its network; null where its port is published. */
  address: string | null;
};

const idPattern = /^[a-z0-9_-]{2,64}$/;
const tagMax = 128;

export function checkId(what: string, id: string): void {
  if (!idPattern.test(id)) {
    throw new ServiceError('BAD_USER_INPUT', `The ${what} is [a-z0-9_-]{2,64}.`);
  }
}

/** As everybody knows it. */
export function shortOf({ id, owner, kind, port }: Workload['spec']): Workload['spec'] {
  return { id, owner, kind, port };
}

export class Names {
  /** Of the data directory; `[a-z0-9-]+`. */
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

  /** `name` null: the one that is shared by those that share none. */
  network(name: string | null): string {
    return `gangway-${this.instance}-${name === null ? 'alone' : `net-${name}`}`;
  }

  isNetwork(network: string): boolean {
    return network.startsWith(`gangway-${this.instance}-`);
  }

  get repository(): string {
    return `gangway-${this.instance}`;
  }

  /** Whether it is one of ours, or of another Gangway: what it holds may be another team's. */
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

  /** The labels that mark a thing as ours. */
  mark(owner?: string): Record<string, string> {
    return {
      [label.instance]: this.instance,
      ...(owner !== undefined && { [label.owner]: owner }),
    };
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
      // Also what it has not: else the label of its image, which may be any, stood for it.
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
