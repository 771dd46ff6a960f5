/**
 * Owns what people pick from: versions and images, by whoever knows them: the registries, what is kept of their
 * answers, what is shipped.
 */
import { ServiceError } from '../lib/errors.ts';
import { imageName, type ImageName } from './image-name.ts';
import type { Answer, KeptAnswers } from './kept-answers.ts';
import type { FoundBy, FoundImage, FoundTag, Question } from './questions.ts';
import { shippedAnswer } from './shipped.ts';
import {
  type EngineTags,
  engineVersions,
  languageVersions,
  nodeVersions,
  packageVersions,
  type PickedVersion,
  sortedTags,
} from './versions.ts';

export type PickedFrom = 'registry' | 'index' | 'cache' | 'bundled';

export interface Picked {
  source: PickedFrom;
  /** RFC 3339; null: what is shipped. */
  fetchedAt: string | null;
}

interface Known<T> extends Picked {
  found: T;
}

export interface PickedTool extends Picked {
  tool: string;
  versions: PickedVersion[];
}

const bundled: Picked = { source: 'bundled', fetchedAt: null };
const tagsShownMax = 200;
// From the live to the one that knows least.
const sources: readonly PickedFrom[] = ['registry', 'index', 'cache', 'bundled'];

export class Pickers {
  readonly #answers: Pick<KeptAnswers, 'get'>;

  constructor(answers: Pick<KeptAnswers, 'get'>) {
    this.#answers = answers;
  }

  /** The versions of an engine that the registry of its image has. */
  async engine(
    image: ImageName,
    engine: EngineTags,
  ): Promise<Picked & { versions: PickedVersion[] }> {
    const answer = await this.#answers.get({ kind: 'tags', image, filter: '' });
    const known = knownOf('registry', answer);
    const versions = known === null ? [] : engineVersions(known.found, engine);
    // A registry that has none of them is no help to choose one.
    if (known === null || versions.length === 0) return shippedVersions(image, engine);
    return { source: known.source, fetchedAt: known.fetchedAt, versions };
  }

  async node(): Promise<Picked & { versions: PickedVersion[] }> {
    const { found, ...picked } = await this.#known({ kind: 'node' });
    return { ...picked, versions: nodeVersions(found) };
  }

  async tools(): Promise<Picked & { tools: PickedTool[] }> {
    const tools = await Promise.all([
      ...['npm', 'pnpm', 'yarn', 'bun'].map((tool) => this.#packageTool(tool)),
      this.#languageTool('python', 'python'),
      this.#languageTool('go', 'golang'),
    ]);
    const least = tools.toSorted((one, other) => rank(other) - rank(one))[0];
    return { source: least?.source ?? 'bundled', fetchedAt: least?.fetchedAt ?? null, tools };
  }

  async search(text: string): Promise<Picked & { results: FoundImage[] }> {
    const { found, ...picked } = await this.#known({ kind: 'search', text });
    return { ...picked, results: found };
  }

  async tags(image: ImageName, filter: string): Promise<Picked & { tags: FoundTag[] }> {
    const { found, ...picked } = await this.#known({ kind: 'tags', image, filter });
    return { ...picked, tags: sortedTags(found).slice(0, tagsShownMax) };
  }

  async #packageTool(tool: string): Promise<PickedTool> {
    // Its versions from 2 on have a package of their own.
    const names = tool === 'yarn' ? ['@yarnpkg/cli-dist', tool] : [tool];
    const all = await Promise.all(names.map((name) => this.#known({ kind: 'npm', name })));
    const [first] = all;
    const versions = all.flatMap(({ found }) => found);
    const { source = 'bundled', fetchedAt = null } = first ?? {};
    return { tool, source, fetchedAt, versions: packageVersions(versions, tool) };
  }

  async #languageTool(tool: string, name: string): Promise<PickedTool> {
    const image: ImageName = { registry: null, repository: `library/${name}`, tag: null };
    const { found, ...picked } = await this.#known({ kind: 'tags', image, filter: '' });
    return { tool, ...picked, versions: languageVersions(found, name) };
  }

  async #known<Q extends Question>(question: Q): Promise<Known<FoundBy[Q['kind']]>> {
    const answer = await this.#answers.get(question);
    if (answer.kind === 'found') {
      return knownOf(question.kind === 'node' ? 'index' : 'registry', answer);
    }
    const found = shippedAnswer(question);
    if (found === null) throw failureOf(answer);
    return { ...bundled, found };
  }
}

/** Null: nothing was found. */
function knownOf<T>(live: PickedFrom, answer: Extract<Answer<T>, { kind: 'found' }>): Known<T>;
function knownOf<T>(live: PickedFrom, answer: Answer<T>): Known<T> | null;
function knownOf<T>(live: PickedFrom, answer: Answer<T>): Known<T> | null {
  if (answer.kind !== 'found') return null;
  const { from, found, fetchedAtMs } = answer;
  const source = from === 'live' ? live : 'cache';
  return { source, fetchedAt: new Date(fetchedAtMs).toISOString(), found };
}

/** Those of an engine, with the newest tags as far as they are shipped. */
function shippedVersions(
  image: ImageName,
  engine: EngineTags,
): Picked & { versions: PickedVersion[] } {
  const tags = shippedAnswer({ kind: 'tags', image, filter: '' }) ?? [];
  const plain = engine.versions.map((version) => engine.tagOf(version));
  const all = [
    ...tags,
    ...plain.map((tag) => ({ tag, digest: null, pushedAt: null, sizeBytes: null })),
  ];
  return { ...bundled, versions: engineVersions(all, engine) };
}

/** Throws BAD_USER_INPUT. */
export function namedImage(text: string): ImageName {
  const image = imageName(text);
  if (image !== null) return image;
  throw new ServiceError(
    'BAD_USER_INPUT',
    'image must be the name of an image, such as "postgres".',
  );
}

function rank({ source }: Picked): number {
  return sources.indexOf(source);
}

function failureOf(answer: Exclude<Answer<unknown>, { kind: 'found' }>): ServiceError {
  switch (answer.kind) {
    case 'none':
      return new ServiceError('IMAGE_NOT_FOUND', 'The registry has no such image.');
    case 'refused':
      return new ServiceError(
        'REGISTRY_REFUSED',
        'The registry shows this to who is signed in there.',
      );
    case 'failed':
      return new ServiceError('REGISTRY_FAILED', 'The registry cannot be asked now.', {
        retryAfterS: Math.ceil(answer.retryAfterMs / 1_000),
      });
  }
}
