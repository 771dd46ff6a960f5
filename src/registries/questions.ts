/** Owns what is asked of public registries, and what is found; plain data. */
import type { AddressRules } from '../lib/address-policy.ts';
import type { ImageName } from './image-name.ts';

export type Question =
  | { kind: 'tags'; image: ImageName; filter: string }
  | { kind: 'search'; text: string }
  | { kind: 'node' }
  | { kind: 'npm'; name: string };

export interface FoundTag {
  tag: string;
  digest: string | null;
  /** RFC 3339. */
  pushedAt: string | null;
  sizeBytes: number | null;
}

export interface FoundImage {
  name: string;
  description: string;
  official: boolean;
  stars: number | null;
}

export interface NodeRelease {
  /** Such as `22.23.3`. */
  version: string;
  lts: boolean;
}

export interface FoundBy {
  tags: FoundTag[];
  search: FoundImage[];
  node: NodeRelease[];
  /** Released versions, in any order. */
  npm: string[];
}

export type Outcome<T> =
  /** `holdMs`: so long nothing more may be asked there. */
  | { kind: 'found'; found: T; holdMs: number }
  | { kind: 'none' }
  | { kind: 'refused' }
  | { kind: 'failed'; why: string; holdMs: number };

/** Where the public sources are; null: they are not asked. */
export interface Sources {
  dockerHubUrl: string | null;
  dockerRegistryUrl: string | null;
  nodeIndexUrl: string | null;
  npmRegistryUrl: string | null;
}

export interface RegistryCall {
  question: Question;
  sources: Sources;
  /** Where it may go besides the sources. */
  rules: AddressRules;
  deadlineMs: number;
}

/** One for each question whose answer may differ. */
export function keyOf(question: Question): string {
  switch (question.kind) {
    case 'tags':
      return `tags ${question.image.registry ?? ''}/${question.image.repository} ${question.filter}`;
    case 'search':
      return `search ${question.text}`;
    case 'npm':
      return `npm ${question.name}`;
    case 'node':
      return 'node';
  }
}

/** Where it is asked first; null: nowhere. */
export function originOf(question: Question, sources: Sources): string | null {
  const address = addressOf(question, sources);
  return address === null ? null : new URL(address).origin;
}

function addressOf(question: Question, sources: Sources): string | null {
  switch (question.kind) {
    case 'tags':
      if (question.image.registry !== null) return registryUrl(question.image.registry);
      return sources.dockerHubUrl ?? sources.dockerRegistryUrl;
    case 'search':
      return sources.dockerHubUrl;
    case 'npm':
      return sources.npmRegistryUrl;
    case 'node':
      return sources.nodeIndexUrl;
  }
}

/** As Docker has it: without TLS on this machine alone. */
export function registryUrl(registry: string): string {
  const isLocal = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/.test(registry);
  return `${isLocal ? 'http' : 'https'}://${registry}`;
}
