/** Owns which tags of which image an engine's versions are. */
import { engines } from '../../actors/database/engines/engines.ts';
import { imageName } from '../../registries/image-name.ts';
import { type DatabaseEngine, databaseEngines } from '../../store/records/records.ts';
import type { PickerEngine } from './pickers.ts';

/** The image of each engine's newest version names the repository of all. */
export function pickerEngines(
  databaseImages: Partial<Record<DatabaseEngine, string>>,
): Map<string, PickerEngine> {
  const found = databaseEngines.flatMap((name): [string, PickerEngine][] => {
    const { versions, reference } = engines[name].image;
    const own = databaseImages[name];
    const imageOf = (version: string) =>
      imageName(own === undefined ? reference(version) : own.replaceAll('{version}', version));
    const image = imageOf(versions[0] ?? '');
    if (image === null) return [];
    const tagOf = (version: string): string => imageOf(version)?.tag ?? 'latest';
    const product = name.toLowerCase();
    return [[product, { image, product, versions, tagOf }]];
  });
  return new Map(found);
}
