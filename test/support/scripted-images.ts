/** Images in memory: builds and pulls are what a test says of them. */
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ImageBuild, ImageInfo, ImagePull, Images } from '../../src/drivers/driver.ts';

export interface SeenBuild extends ImageBuild {
  /** The text of the Dockerfile. */
  text: string;
  /** Names of what lies on top of the context. */
  files: string[];
  /** Its `.dockerignore`. */
  ignore: string | null;
}

type Outcome = Partial<ImageInfo> & { lines?: string[]; held?: Promise<unknown> };

export class ScriptedImages implements Images {
  readonly built: SeenBuild[] = [];
  readonly pulled: ImagePull[] = [];
  readonly kept: { owner: string; images: string[] }[] = [];
  /** Told what a build or a pull comes to; throws what it is refused with. */
  onBuild: (spec: SeenBuild) => Outcome = () => ({});
  onPull: (spec: ImagePull) => Outcome = () => ({});
  /** Builds and pulls that were given up. */
  aborted = 0;

  async build(
    spec: ImageBuild,
    say: (line: string) => void,
    signal: AbortSignal,
  ): Promise<ImageInfo> {
    const { contextDir, dockerfile } = spec;
    const read = (name: string): Promise<string> => readFile(join(contextDir, name), 'utf8');
    const seen: SeenBuild = {
      ...spec,
      text: 'text' in dockerfile ? dockerfile.text : await read(dockerfile.path),
      files: (await readdir(contextDir)).sort(),
      ignore: await read('.dockerignore').catch(() => null),
    };
    this.built.push(seen);
    return this.#finish(spec.name, () => this.onBuild(seen), say, signal);
  }

  pull(spec: ImagePull, say: (line: string) => void, signal: AbortSignal): Promise<ImageInfo> {
    this.pulled.push(spec);
    return this.#finish(spec.name, () => this.onPull(spec), say, signal);
  }

  keep(owner: string, images: ReadonlySet<string>): Promise<void> {
    this.kept.push({ owner, images: [...images].sort() });
    return Promise.resolve();
  }

  async #finish(
    name: string,
    outcomeOf: () => Outcome,
    say: (line: string) => void,
    signal: AbortSignal,
  ): Promise<ImageInfo> {
    const { lines = [], held, ...info } = outcomeOf();
    for (const line of lines) say(line);
    const stopped = new Promise((resolve) => {
      signal.addEventListener('abort', resolve);
    });
    if (held !== undefined) await Promise.race([held, stopped]);
    if (signal.aborted) this.aborted += 1;
    signal.throwIfAborted();
    return { image: `ours/${name}`, ports: [], ...info };
  }
}
