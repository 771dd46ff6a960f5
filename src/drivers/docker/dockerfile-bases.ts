/**
 * Owns which images a Dockerfile takes from, by FROM, COPY --from and RUN --mount=from=, with ARGs
 * filled in as the builders do. What it does not understand they refuse as well.
 */

interface Reading {
  args: Map<string, string>;
  /** Names of stages so far. */
  stages: Set<string>;
  /** How many there are, named or not. */
  count: number;
  bases: string[];
}

/** Names of images, without those that are stages of the file itself. */
export function basesOf(
  dockerfile: string,
  buildArgs: Readonly<Record<string, string>>,
): readonly string[] {
  const reading: Reading = { args: new Map(), stages: new Set(), count: 0, bases: [] };
  for (const line of instructionsOf(dockerfile)) {
    const [, word = '', rest = ''] = /^\s*(\w+)\s+([^]*)$/.exec(line) ?? [];
    switch (word.toUpperCase()) {
      case 'ARG':
        readArgs(reading, rest, buildArgs);
        break;
      case 'FROM':
        readFrom(reading, rest);
        break;
      case 'COPY':
      case 'ADD':
      case 'RUN':
      case 'ONBUILD':
        readCopy(reading, rest);
        break;
      default:
    }
  }
  return reading.bases;
}

/** Whether the builder may take this for the beginning of an image's id, whoever's it is. */
export function mayBeId(image: string): boolean {
  return /^(sha256:)?[0-9a-f]{1,64}$/i.test(image);
}

function instructionsOf(dockerfile: string): string[] {
  const escape = /^(?:\s*#[^\n]*\n)*?\s*#\s*escape\s*=\s*`/i.test(dockerfile) ? '`' : '\\';
  const lines: string[] = [];
  let open = '';
  for (const line of dockerfile.split(/\r?\n/)) {
    if (/^\s*(#|$)/.test(line)) continue; // Also between the parts of one instruction.
    const text = line.trimEnd();
    if (text.endsWith(escape)) open += text.slice(0, -1);
    else {
      lines.push(open + text);
      open = '';
    }
  }
  return open === '' ? lines : [...lines, open];
}

function readArgs(
  { args, count }: Reading,
  rest: string,
  given: Readonly<Record<string, string>>,
): void {
  // Those of a stage are no part of what it starts from.
  if (count > 0) return;
  for (const [, name = '', value = ''] of rest.matchAll(/(\w+)(?:=("[^"]*"|'[^']*'|\S*))?/g)) {
    args.set(name, given[name] ?? filled(unquoted(value), args));
  }
}

function readFrom(reading: Reading, rest: string): void {
  const [image = '', as = '', name = ''] = rest
    .split(/\s+/)
    .filter((word) => word !== '' && !word.startsWith('--'));
  const base = filled(unquoted(image), reading.args);
  if (!reading.stages.has(base.toLowerCase()) && base !== 'scratch') reading.bases.push(base);
  if (as.toLowerCase() === 'as') reading.stages.add(name.toLowerCase());
  reading.count++;
}

function readCopy({ args, stages, count, bases }: Reading, rest: string): void {
  for (const [, given = ''] of rest.matchAll(/--(?:mount=\S*?\b)?from=([^,\s]+)/gi)) {
    const from = filled(unquoted(given), args);
    const isStage = stages.has(from.toLowerCase()) || (/^\d+$/.test(from) && Number(from) < count);
    if (!isStage) bases.push(from);
  }
}

function unquoted(value: string): string {
  return value.replaceAll(/["']/g, '');
}

function filled(text: string, args: ReadonlyMap<string, string>): string {
  return text.replaceAll(
    /\$(?:\{(\w+)(?::([-+])([^}]*))?\}|(\w+))/g,
    (_all, braced?: string, how?: string, word = '', plain?: string) => {
      const value = args.get(braced ?? plain ?? '') ?? '';
      if (how === '-') return value === '' ? filled(String(word), args) : value;
      if (how === '+') return value === '' ? '' : filled(String(word), args);
      return value;
    },
  );
}
