/**
 * Owns how each question is asked. What a registry says is garbage until it is checked: what has a wrong type is left
 * out, pages end, and an answer has so many entries.
 */
import { imageName, type ImageName, isTag, shortName } from '../image-name.ts';
import {
  type FoundBy,
  type FoundImage,
  type FoundTag,
  type Question,
  registryUrl,
  type Sources,
} from '../questions.ts';
import { samePlace } from './answer-headers.ts';
import { type JsonSource, SourceFailure } from './json-source.ts';

const pagesMax = 8;
const pageSize = 100;
const tagsMax = 1_000;
const searchMax = 25;
const releasesMax = 2_000;
const descriptionMax = 300;

/** Throws SourceFailure, or what ended the requests. */
export async function lookUp(
  source: JsonSource,
  sources: Sources,
  question: Question,
): Promise<FoundBy[Question['kind']]> {
  switch (question.kind) {
    case 'tags':
      return tagsOf(source, sources, question.image, question.filter);
    case 'search':
      return search(source, named(sources.dockerHubUrl), question.text);
    case 'node':
      return nodeReleases(source, named(sources.nodeIndexUrl));
    case 'npm':
      return npmVersions(source, named(sources.npmRegistryUrl), question.name);
  }
}

function named(url: string | null): string {
  if (url === null) throw new SourceFailure('failed', 'No source is configured.');
  return url;
}

async function tagsOf(
  source: JsonSource,
  { dockerHubUrl, dockerRegistryUrl }: Sources,
  image: ImageName,
  filter: string,
): Promise<FoundTag[]> {
  if (image.registry !== null)
    return listedTags(source, registryUrl(image.registry), image, filter);
  try {
    return await hubTags(source, named(dockerHubUrl), image, filter);
  } catch (error) {
    const isFailed = error instanceof SourceFailure && error.kind === 'failed';
    if (!isFailed || dockerRegistryUrl === null) throw error;
    return listedTags(source, dockerRegistryUrl, image, filter);
  }
}

/** By Docker Hub's own API, which knows when a tag was pushed. */
async function hubTags(
  source: JsonSource,
  hub: string,
  { repository }: ImageName,
  filter: string,
): Promise<FoundTag[]> {
  const query = new URLSearchParams({ page_size: String(pageSize) });
  if (filter !== '') query.set('name', filter);
  const first = `${hub}/v2/repositories/${repository}/tags?${String(query)}`;
  return paged(first, filter, async (address) => {
    const { value } = await source.get(address);
    const { results, next } = fieldsOf(value);
    if (!Array.isArray(results)) throw new SourceFailure('failed', 'It has no list of tags.');
    return {
      tags: results.flatMap(hubTag),
      next: typeof next === 'string' ? samePlace(next, address) : null,
    };
  });
}

/** By the distribution API, which knows names alone. */
async function listedTags(
  source: JsonSource,
  registry: string,
  { repository }: ImageName,
  filter: string,
): Promise<FoundTag[]> {
  const first = `${registry}/v2/${repository}/tags/list?n=${String(tagsMax)}`;
  return paged(first, filter, async (address) => {
    const { value, next } = await source.get(address);
    const { tags } = fieldsOf(value);
    // A repository without any has null.
    if (!Array.isArray(tags) && tags !== null) {
      throw new SourceFailure('failed', 'It has no list of tags.');
    }
    return { tags: (tags ?? []).flatMap(plainTag), next };
  });
}

interface Page {
  tags: FoundTag[];
  next: string | null;
}

/** Page by page, to an end; what is there when a later page fails is the answer. */
async function paged(
  first: string,
  filter: string,
  read: (address: string) => Promise<Page>,
): Promise<FoundTag[]> {
  const found = new Map<string, FoundTag>();
  const seen = new Set<string>();
  let at: string | null = first;
  while (at !== null && !seen.has(at) && seen.size < pagesMax && found.size < tagsMax) {
    seen.add(at);
    let page: Page;
    try {
      page = await read(at);
    } catch (error) {
      if (found.size === 0) throw error;
      break;
    }
    for (const tag of page.tags) {
      if (tag.tag.includes(filter) && found.size < tagsMax && !found.has(tag.tag)) {
        found.set(tag.tag, tag);
      }
    }
    at = page.next;
  }
  return [...found.values()];
}

function hubTag(entry: unknown): FoundTag[] {
  const {
    name,
    digest,
    full_size: size,
    tag_last_pushed: pushed,
    last_updated: updated,
  } = fieldsOf(entry);
  if (typeof name !== 'string' || !isTag(name)) return [];
  return [
    {
      tag: name,
      digest:
        typeof digest === 'string' && /^[a-z0-9]+:[0-9a-f]{32,128}$/.test(digest) ? digest : null,
      pushedAt: dateOf(pushed) ?? dateOf(updated),
      sizeBytes: Number.isSafeInteger(size) && Number(size) >= 0 ? Number(size) : null,
    },
  ];
}

function plainTag(name: unknown): FoundTag[] {
  if (typeof name !== 'string' || !isTag(name)) return [];
  return [{ tag: name, digest: null, pushedAt: null, sizeBytes: null }];
}

async function search(source: JsonSource, hub: string, text: string): Promise<FoundImage[]> {
  const query = new URLSearchParams({ query: text, page_size: String(searchMax) });
  const { value } = await source.get(`${hub}/v2/search/repositories/?${String(query)}`);
  const { results } = fieldsOf(value);
  if (!Array.isArray(results)) throw new SourceFailure('failed', 'It has no list of images.');
  const found = results.slice(0, searchMax).flatMap(foundImage);
  return [...new Map(found.map((image) => [image.name, image])).values()];
}

function foundImage(entry: unknown): FoundImage[] {
  const {
    repo_name: name,
    short_description: about,
    is_official: official,
    star_count: stars,
  } = fieldsOf(entry);
  const image = typeof name === 'string' ? imageName(name) : null;
  if (image === null) return [];
  const description = typeof about === 'string' ? about.replace(/[\p{C}\s]+/gu, ' ').trim() : '';
  return [
    {
      name: shortName(image),
      description: description.slice(0, descriptionMax),
      official: official === true,
      stars: Number.isSafeInteger(stars) && Number(stars) >= 0 ? Number(stars) : null,
    },
  ];
}

async function nodeReleases(source: JsonSource, index: string): Promise<FoundBy['node']> {
  const { value } = await source.get(index);
  if (!Array.isArray(value)) throw new SourceFailure('failed', 'It has no list of releases.');
  const found = value.slice(0, releasesMax).flatMap((entry) => {
    const { version, lts } = fieldsOf(entry);
    const [, plain] = typeof version === 'string' ? (/^v(\d+\.\d+\.\d+)$/.exec(version) ?? []) : [];
    return plain === undefined ? [] : [{ version: plain, lts: typeof lts === 'string' }];
  });
  if (found.length === 0) throw new SourceFailure('failed', 'It has no releases.');
  return found;
}

async function npmVersions(source: JsonSource, registry: string, name: string): Promise<string[]> {
  const { value } = await source.get(`${registry}/-/package/${encodeURIComponent(name)}/dist-tags`);
  const versions = Object.values(fieldsOf(value))
    .slice(0, releasesMax)
    .filter((one): one is string => typeof one === 'string' && /^\d+\.\d+\.\d+$/.test(one));
  if (versions.length === 0) throw new SourceFailure('failed', 'It has no versions.');
  return [...new Set(versions)];
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function dateOf(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > 40) return null;
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}
