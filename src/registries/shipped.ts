/** Owns what is shipped of the registries' answers, for when none of them is reached. `npm run versions` renews it. */
import { type ImageName, shortName } from './image-name.ts';
import type { FoundBy, FoundImage, FoundTag, Question } from './questions.ts';
import shipped from './shipped.json' with { type: 'json' };

/** Null: nothing of it is shipped. */
export function shippedAnswer<Q extends Question>(question: Q): FoundBy[Q['kind']] | null {
  return answerTo(question) as FoundBy[Q['kind']] | null;
}

function answerTo(question: Question): FoundBy[Question['kind']] | null {
  switch (question.kind) {
    case 'tags':
      return shippedTags(question.image, question.filter);
    case 'search':
      return shippedImages(question.text);
    case 'node':
      return shipped.node;
    case 'npm':
      return (shipped.npm as Record<string, string[]>)[question.name] ?? null;
  }
}

function shippedTags(image: ImageName, filter: string): FoundTag[] | null {
  const found = shipped.images.find(({ name }) => name === shortName(image));
  if (found === undefined) return null;
  return found.tags
    .filter((tag) => tag.includes(filter))
    .map((tag) => ({ tag, digest: null, pushedAt: null, sizeBytes: null }));
}

function shippedImages(text: string): FoundImage[] {
  const wanted = text.toLowerCase();
  return shipped.images
    .filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(wanted))
    .map(({ name, description }) => ({
      name,
      description,
      official: !name.includes('/'),
      stars: null,
    }));
}
