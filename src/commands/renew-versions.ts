/**
 * Owns `src/registries/shipped.json`: `npm run versions` asks the public sources, as the configuration names them, and
 * writes what is shipped of their answers. Where one of them fails nothing is written.
 */
import { writeFile } from 'node:fs/promises';
import { resolveConfig } from '../config.ts';
import { imageName } from '../registries/image-name.ts';
import type { FoundBy, Question, Sources } from '../registries/questions.ts';
import shipped from '../registries/shipped.json' with { type: 'json' };
import { askRegistry } from '../registries/sources/ask-registry.ts';
import {
  engineVersions,
  languageVersions,
  nodeVersions,
  packageVersions,
} from '../registries/versions.ts';
import { pickerEngines } from '../gateway/transports/picker-engines.ts';

const file = new URL('../registries/shipped.json', import.meta.url);
const deadlineMs = 60_000;
const majorsKept = 4;
/** Images whose tags are versions of a language. */
const languages = ['python', 'golang'];

type Image = (typeof shipped.images)[number];

const { config } = resolveConfig();

const images: Image[] = [];
for (const image of shipped.images) images.push({ ...image, tags: await tagsOf(image) });
const npm: Record<string, string[]> = {};
for (const name of Object.keys(shipped.npm)) {
  const versions = packageVersions(await ask({ kind: 'npm', name }), name);
  npm[name] = versions.slice(0, majorsKept).map(({ tag }) => tag);
}
const node = nodeVersions(await ask({ kind: 'node' })).map(({ tag, lts }) => ({
  version: tag,
  lts,
}));
const madeAt = new Date().toISOString();
await writeFile(file, `${JSON.stringify({ madeAt, images, node, npm }, null, 2)}\n`);

async function ask<Q extends Question>(question: Q): Promise<FoundBy[Q['kind']]> {
  const { privateNetworks, dockerHubUrl, dockerRegistryUrl, nodeIndexUrl, npmRegistryUrl } = config;
  const sources: Sources = { dockerHubUrl, dockerRegistryUrl, nodeIndexUrl, npmRegistryUrl };
  const rules = { privateNetworks, ownPorts: [] };
  const call = { question, sources, rules, deadlineMs };
  const outcome = await askRegistry(call);
  if (outcome.kind === 'found') return outcome.found as FoundBy[Q['kind']];
  const why = outcome.kind === 'failed' ? outcome.why : outcome.kind;
  throw new Error(`Cannot renew ${JSON.stringify(question)}: ${why}`);
}

/** As many as are of use: of an engine its versions, of a language its series, else those that are still there. */
async function tagsOf({ name, tags }: Image): Promise<string[]> {
  const image = imageName(name);
  if (image === null) throw new Error(`Cannot renew ${name}: it is no image`);
  const found = await ask({ kind: 'tags', image, filter: '' });
  const engine = [...pickerEngines(config.databaseImages).values()].find(
    (one) => one.image.repository === image.repository,
  );
  if (engine !== undefined) {
    const versions = engineVersions(found, engine);
    return [...new Set(versions.flatMap(({ version, tag }) => [tag, engine.tagOf(version)]))];
  }
  const there = tags.filter((tag) => found.some((one) => one.tag === tag));
  if (!languages.includes(name)) return there;
  const series = languageVersions(found, name).flatMap(({ version, tag }) => [tag, version]);
  return [...new Set([...series, ...there])];
}
