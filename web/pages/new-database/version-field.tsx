/** Owns choosing the version of an engine: what registries have, and what their makers say of it. */
import { useJson } from '../../api/json.ts';
import { SelectField } from '../../ui/field.tsx';
import { exactTime } from '../../ui/relative-time.tsx';
import type { Engine } from './engines.ts';

interface Versions {
  source: 'registry' | 'index' | 'cache' | 'bundled';
  fetchedAt: string | null;
  versions: { version: string; tag: string; lts: boolean; endOfLife: string | null }[];
}

interface VersionFieldProps {
  engine: Engine;
  /** '' for the newest there is. */
  value: string;
  onChange: (version: string) => void;
}

export function VersionField({ engine, value, onChange }: VersionFieldProps) {
  const { data, error } = useJson<Versions>(
    `/api/database-versions?engine=${engine.toLowerCase()}`,
  );
  const options = [
    { value: '', label: 'The newest there is' },
    ...(data?.versions ?? []).map(({ version, tag, lts, endOfLife }) => ({
      value: version,
      label: [version, newest(version, tag), lts && 'long-term support', ended(endOfLife)]
        .filter(Boolean)
        .join(' · '),
    })),
  ];
  return (
    <SelectField
      label="Version"
      options={options}
      value={options.some((option) => option.value === value) ? value : ''}
      onChange={(event) => onChange(event.target.value)}
      hint={hintOf(data, error)}
    />
  );
}

/** The exact version that a tag names, where it says more than the version. */
function newest(version: string, tag: string): string {
  const exact = /^[\d.]+/.exec(tag)?.[0] ?? '';
  return exact === version ? '' : exact;
}

function ended(endOfLife: string | null): string {
  if (endOfLife === null) return '';
  const isOver = endOfLife < new Date().toISOString().slice(0, 10);
  return isOver ? `not cared for since ${endOfLife}` : `cared for until ${endOfLife}`;
}

function hintOf(data: Versions | null, error: unknown): string {
  if (error !== null) return 'The list of versions cannot be read now; the newest one is taken.';
  if (data === null) return 'Looking up versions…';
  if (data.source === 'bundled') return 'No registry is reached; these came with Gangway.';
  return data.fetchedAt === null ? '' : `As of ${exactTime(data.fetchedAt)}.`;
}
