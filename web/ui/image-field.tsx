/** Owns naming an image: registries are asked for names, and behind a colon for its tags. */
import { useJson } from '../api/json.ts';
import { SuggestField, type Suggestion, useSettled } from './suggest-field.tsx';

interface Answer {
  results?: { name: string; description: string | null }[];
  tags?: { tag: string }[];
}

interface ImageFieldProps {
  value: string;
  onChange: (image: string) => void;
  required?: boolean;
}

export function ImageField({ value, onChange, required = false }: ImageFieldProps) {
  const settled = useSettled(value.trim());
  const { data } = useJson<Answer>(pathFor(settled));
  return (
    <SuggestField
      label="Image"
      value={value}
      onChange={(event) => onChange(event.target.value)}
      suggestions={suggestionsOf(settled, data)}
      placeholder="nginx:1.27 or ghcr.io/acme/shop:latest"
      hint="Behind a colon its tags are offered. Private images need a registry login of the team."
      required={required}
      spellCheck={false}
      autoCapitalize="off"
    />
  );
}

const image = /^([a-z0-9][a-z0-9._/-]*(?::\d+\/[a-z0-9._/-]+)?)(?::([\w.-]*))?$/;
const searchMin = 2;

/** Null where there is nothing to ask for. */
function pathFor(text: string): string | null {
  const [, name, tag] = image.exec(text) ?? [];
  if (name === undefined || name.length < searchMin || name.length > 100) return null;
  if (tag === undefined) {
    // Only Docker Hub can be searched.
    return name.includes('.')
      ? null
      : `/api/registry/images?action=search&q=${encodeURIComponent(name)}`;
  }
  const query = new URLSearchParams({ action: 'tags', image: name, filter: tag });
  return `/api/registry/images?${query.toString()}`;
}

function suggestionsOf(text: string, data: Answer | null): Suggestion[] {
  const [, name] = image.exec(text) ?? [];
  if (data?.tags !== undefined && name !== undefined) {
    return data.tags.map(({ tag }) => ({ value: `${name}:${tag}` }));
  }
  return (data?.results ?? []).map(({ name: found, description }) => ({
    value: found,
    ...(description !== null && { label: description }),
  }));
}
