/** Owns one call of each kind that a driver on a Docker daemon takes, and how calls ended. */
import type { Driver, TerminalEvents } from '../../src/drivers/driver.ts';
import { containerSpec } from './docker-place.ts';

export type Call = (driver: Driver) => Promise<unknown>;

const size = { cols: 80, rows: 24 };
const owner = 'app_calls';

export const deaf: TerminalEvents = { output: () => undefined, exit: () => undefined };
export const aCommand = { command: ['true'], env: {}, timeoutMs: 300, maxBytes: 100 };
export const aTerminal = { command: [], env: {}, ...size };

/** Of the workload `id`; `dir` is what is built. */
export function callsOf(id: string, dir: string) {
  const { signal } = new AbortController();
  const say = (): void => undefined;
  const image = { owner, name: 'dep-1', logins: [] };
  const dockerfile = { text: 'FROM scratch' };
  const build = { ...image, contextDir: dir, dockerfile, buildArgs: {} };
  const spec = containerSpec({ id: 'other-1', command: ['true'] });
  return {
    start: (driver) => driver.start(spec),
    inspect: (driver) => driver.inspect(id),
    list: (driver) => driver.list(),
    stop: (driver) => driver.stop(id),
    remove: (driver) => driver.remove(id),
    probe: (driver) => driver.probe(id),
    usage: (driver) => driver.usage(id),
    freePort: (driver) => driver.freePort(),
    terminal: (driver) => driver.openTerminal(id, aTerminal, deaf),
    attach: (driver) => driver.attach(id, size, deaf),
    exec: (driver) => driver.exec(id, aCommand, signal),
    pipe: (driver) => driver.pipe(id, { command: ['true'], env: {} }, null, signal),
    volume: (driver) => driver.removeVolume('none'),
    volumes: (driver) => driver.removeVolumesOf(owner),
    build: async (driver) => driver.images?.build(build, say, signal),
    pull: async (driver) => driver.images?.pull({ ...image, reference: 'a/b:1' }, say, signal),
    keep: async (driver) => driver.images?.keep(owner, new Set()),
  } satisfies Record<string, Call>;
}

/** The code each of them was refused with, by name; `done` for what was not. */
export async function codesOf(
  calls: Readonly<Record<string, Call>>,
  driver: Driver,
): Promise<Record<string, unknown>> {
  const codes = Object.entries(calls).map(async ([name, call]) => {
    const code: unknown = await call(driver).then(
      () => 'done',
      (error: unknown) => (error as { code?: unknown }).code ?? error,
    );
    return [name, code] as const;
  });
  return Object.fromEntries(await Promise.all(codes));
}

/** What `codesOf` gives where all of them end so. */
export function allAre(
  calls: Readonly<Record<string, Call>>,
  code: string,
): Record<string, unknown> {
  return Object.fromEntries(Object.keys(calls).map((name) => [name, code]));
}
