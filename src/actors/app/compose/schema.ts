/**
 * Owns the allowlist of a compose file: every key that may stand in it, and what its value may be. Any
 * other key is refused by name, so that nothing unexpected reaches the host: no privileges, devices,
 * namespaces or folders of the host.
 */
import { constants } from 'node:os';
import { z } from 'zod';
import { placeOf } from './document.ts';
import { WorkFailed } from '../../workload/work-failed.ts';
import { durationMs, isInsidePath, portInside, sizeBytes, volumeUse, wordsOf } from './values.ts';
import type { VolumeUse } from './values.ts';

const servicesMax = 32;
const keysMax = 512;

const scalar = z
  .union([z.string(), z.number(), z.boolean()], { error: 'must be a text or a number' })
  .transform(String);

const identifier = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,39}$/, 'must be a name of a-z, 0-9, "_" and "-", 40 at most');

const duration = timeUpTo(24 * 60, 'must be a duration such as 1m30s, 24h at most');
/** A user who stops the app waits for this long. */
const grace = timeUpTo(10, 'must be a duration such as 1m30s, 10m at most');
const memory = parsed(scalar, memoryBytes, 'must be a size such as 512m, from 1m to 1048576m');
const pids = z
  .number()
  .int()
  .min(8, 'must be at least 8')
  .max(1_000_000, 'must be at most 1000000');
const port = parsed(
  scalar,
  portInside,
  'must be one TCP port such as 80 or "8080:80"; ranges and UDP are not supported',
);
const insidePath = z
  .string()
  .refine(isInsidePath, 'must be an absolute path without ".." and ":", not in /proc or /sys');

const words = z.union(
  [
    z.null().transform(() => null),
    parsed(z.string(), wordsOf, 'has a quote that is not closed'),
    z.array(scalar),
  ],
  { error: 'must be a command line or a list of words' },
);

/** A map, or a list of `KEY=value`. A key alone stands for the app's variable of that name. */
const environment = z
  .union(
    [
      z.record(z.string(), z.union([scalar, z.null()])),
      z
        // The message does not repeat the entry, because all of it may be the value of a variable.
        .array(z.string().regex(/^[A-Za-z_][\w.-]{0,255}(=|$)/, 'must be KEY=value'))
        .transform((list) => Object.fromEntries(list.map(pairOf))),
    ],
    { error: 'must be a map, or a list of KEY=value' },
  )
  .superRefine((map, context) => {
    for (const key of Object.keys(map)) {
      if (!/^[A-Za-z_][\w.-]{0,255}$/.test(key))
        wrong(context, `has a key that is no variable: ${key}`);
    }
    if (Object.keys(map).length > keysMax) wrong(context, 'has too many variables');
  });

const labels = z
  .union(
    [
      z.record(z.string(), scalar),
      z
        .array(z.string())
        .transform((list) =>
          Object.fromEntries(list.map(pairOf).map(([key, value]) => [key, value ?? ''])),
        ),
    ],
    { error: 'must be a map, or a list of key=value' },
  )
  .superRefine((map, context) => {
    for (const key of Object.keys(map)) {
      if (/^(gangway|com\.docker)(\.|$)/i.test(key)) {
        wrong(context, `must not set ${key}: labels of gangway and of Docker are not the app's`);
      }
    }
  });

const volume = z.union(
  [
    z.string().transform((text, context): VolumeUse => {
      const use = volumeUse(text);
      if (typeof use !== 'string') return use;
      wrong(context, `"${text}" is refused: ${use}`);
      return z.NEVER;
    }),
    z.strictObject({
      type: z.literal('volume', 'must be volume: folders of the host are refused'),
      source: identifier.optional(),
      target: insidePath,
      read_only: z.boolean().default(false),
    }),
  ],
  { error: 'must be name:/path, or a map with type volume, source and target' },
);

const healthcheck = z.strictObject({
  test: z.union([z.string(), z.array(scalar).min(1)]).optional(),
  interval: duration.optional(),
  timeout: duration.optional(),
  start_period: duration.optional(),
  start_interval: duration.optional(),
  retries: z.number().int().min(1).max(1000).optional(),
  disable: z.boolean().optional(),
});

/** How far another service has to have come, by the name that a compose file uses. */
export const conditions = {
  service_started: 'started',
  service_healthy: 'healthy',
  service_completed_successfully: 'completed',
} as const;
export type Condition = keyof typeof conditions;

const dependsOn = z.union([
  z
    .array(identifier)
    .transform((names) =>
      Object.fromEntries(names.map((name) => [name, { condition: 'service_started' as const }])),
    ),
  z.record(
    identifier,
    z.strictObject({
      condition: z.enum(Object.keys(conditions) as Condition[]).default('service_started'),
      restart: z.boolean().optional(),
      required: z.literal(true).optional(),
    }),
  ),
]);

const limits = z.strictObject({
  cpus: parsed(scalar, cpusOf, 'must be a number of cores above 0').optional(),
  memory: memory.optional(),
  pids: pids.optional(),
});

const service = z.strictObject({
  image: z
    .string()
    .trim()
    .regex(/^[a-z0-9][\w.\-/:@]{0,511}$/i, 'must name an image')
    .optional(),
  build: z
    .strictObject({
      /** There are no files beside a compose file: the context can only be `.`, and it is empty. */
      context: z.literal('.', 'must be ".": a compose app has no files to build from').optional(),
      dockerfile_inline: z.string().max(65_536),
      args: environment.optional(),
      target: z.string().optional(),
    })
    .optional(),
  command: words.optional(),
  entrypoint: words.optional(),
  environment: environment.optional(),
  expose: z.array(port).optional(),
  ports: z
    .array(
      z.union([
        port,
        z.strictObject({
          target: port,
          published: scalar.optional(),
          protocol: z.literal('tcp').optional(),
        }),
      ]),
    )
    .optional(),
  volumes: z.array(volume).max(64).optional(),
  tmpfs: z.union([insidePath.transform((one) => [one]), z.array(insidePath)]).optional(),
  depends_on: dependsOn.optional(),
  healthcheck: healthcheck.optional(),
  restart: z
    .string()
    .regex(
      /^(no|always|unless-stopped|on-failure(:\d+)?)$/,
      'must be no, always, on-failure or unless-stopped',
    )
    .optional(),
  user: scalar.optional(),
  working_dir: insidePath.optional(),
  stop_grace_period: grace.optional(),
  stop_signal: z
    .string()
    .refine(
      (name) => name in constants.signals || /^SIGRTM(IN|AX)([+-]\d{1,2})?$/.test(name),
      'must be a signal such as SIGTERM',
    )
    .optional(),
  init: z.boolean().optional(),
  read_only: z.boolean().optional(),
  tty: z.boolean().optional(),
  stdin_open: z.boolean().optional(),
  hostname: identifier.optional(),
  container_name: z.string().optional(),
  labels: labels.optional(),
  networks: z
    .union([z.array(identifier), z.record(identifier, z.null('takes no options here'))])
    .optional(),
  mem_limit: memory.optional(),
  cpus: parsed(scalar, cpusOf, 'must be a number of cores above 0').optional(),
  pids_limit: pids.optional(),
  deploy: z
    .strictObject({
      resources: z.strictObject({ limits: limits.optional() }).optional(),
      replicas: z.literal(1, 'must be 1').optional(),
    })
    .optional(),
});

const named = z.record(
  identifier,
  z.union([z.null(), z.strictObject({})], {
    error: 'takes no options here: no driver, no driver_opts, nothing external',
  }),
);

const composeFile = z.strictObject({
  version: scalar.optional(),
  name: z.string().optional(),
  services: z.record(identifier, z.preprocess(withoutNotes, service)),
  volumes: named.optional(),
  networks: named.optional(),
});

export type ComposeService = z.infer<typeof service>;
export type ComposeFile = z.infer<typeof composeFile>;

/** Checks keys and values. Throws WorkFailed, which names the first that is not allowed. */
export function checkFile(value: unknown): ComposeFile {
  const file = composeFile.safeParse(withoutNotes(value));
  if (!file.success) {
    const [issue] = file.error.issues;
    throw new WorkFailed(issue === undefined ? 'compose is not valid.' : sentenceOf(issue, []));
  }
  const count = Object.keys(file.data.services).length;
  if (count > servicesMax) {
    throw new WorkFailed(`services may hold ${String(servicesMax)} at most.`);
  }
  return file.data;
}

/** A map without its `x-…` keys, which hold anchors and notes and have no meaning. */
function withoutNotes(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !key.startsWith('x-')));
}

type Issue = z.ZodError['issues'][number];

function sentenceOf(issue: Issue, above: readonly PropertyKey[]): string {
  const path = [...above, ...issue.path];
  switch (issue.code) {
    case 'unrecognized_keys': {
      const [key = ''] = issue.keys;
      return `${placeOf([...path, key])} is not allowed.`;
    }
    case 'invalid_union': {
      const closest = closestOf(issue.errors);
      return closest === undefined
        ? `${placeOf(path)} ${issue.message}.`
        : sentenceOf(closest, path);
    }
    case 'invalid_key': {
      const key = path.at(-1) ?? '';
      const [wrongKey] = issue.issues;
      return `${placeOf(path.slice(0, -1))} has the key "${String(key)}", which ${wrongKey?.message ?? 'is not valid'}.`;
    }
    case 'invalid_type':
      return `${placeOf(path)} must be ${article(issue.expected)}.`;
    default:
      return `${placeOf(path)} ${issue.message.replace(/\.$/, '')}.`;
  }
}

/** A value may be written in several ways. Returns the fault of the way in which it was written. */
function closestOf(errors: readonly (readonly Issue[])[]): Issue | undefined {
  const deeper = errors
    .flat()
    .filter(({ code, path }) => code !== 'invalid_type' || path.length > 0);
  return deeper[0];
}

function article(expected: string): string {
  const names: Readonly<Record<string, string>> = {
    object: 'a map',
    record: 'a map',
    array: 'a list',
    string: 'a text',
    int: 'a whole number',
  };
  return names[expected] ?? `a ${expected}`;
}

function parsed<In, Out>(
  schema: z.ZodType<In>,
  parse: (text: In) => Out | undefined,
  sentence: string,
): z.ZodType<Out> {
  return schema.transform((text, context) => {
    const value = parse(text);
    if (value !== undefined) return value;
    wrong(context, sentence);
    return z.NEVER;
  });
}

function wrong(
  context: { addIssue(issue: { code: 'custom'; message: string }): void },
  message: string,
): void {
  context.addIssue({ code: 'custom', message });
}

function timeUpTo(minutes: number, sentence: string): z.ZodType<number> {
  const parse = (text: string): number | undefined => {
    const ms = durationMs(text);
    return ms !== undefined && ms <= minutes * 60_000 ? ms : undefined;
  };
  return parsed(z.string(), parse, sentence);
}

/** A memory size within the limits that an app's settings may name. */
function memoryBytes(text: string): number | undefined {
  const bytes = sizeBytes(text);
  const mib = (bytes ?? 0) / 2 ** 20;
  return mib >= 1 && mib <= 1_048_576 ? bytes : undefined;
}

function cpusOf(text: string): number | undefined {
  const cpus = Number(text);
  return Number.isFinite(cpus) && cpus >= 0.01 && cpus <= 512 ? cpus : undefined;
}

/** `KEY=value`, or `KEY` alone. */
function pairOf(text: string): [string, string | null] {
  const at = text.indexOf('=');
  return at === -1 ? [text, null] : [text.slice(0, at), text.slice(at + 1)];
}
