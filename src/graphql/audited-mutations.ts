/**
 * Owns that every mutation is recorded: the resolvers are wrapped where the schema is made, so that
 * a new one is recorded without anybody thinking of it.
 *
 * 1. What a mutation was asked is told by its arguments as far as they are harmless: names and ids
 *    that are listed here, numbers, booleans and enums. Any other text may be a secret and is left
 *    out, so that a new argument tells too little rather than too much.
 * 2. A mutation that returns a secret or runs a command is recorded even when it changes nothing.
 */
import { type GraphQLField, type GraphQLSchema, GraphQLEnumType, getNamedType } from 'graphql';
import type { GraphContext } from './context.ts';

type Field = GraphQLField<unknown, GraphContext>;
type Told = Record<string, unknown>;

export function auditMutations(schema: GraphQLSchema): void {
  const fields = schema.getMutationType()?.getFields() ?? {};
  for (const field of Object.values(fields) as Field[]) audit(field);
}

function audit(field: Field): void {
  const { resolve, name } = field;
  if (!resolve) return;
  const always = showsOrRuns(field);
  const enums = new Set(
    field.args.filter(({ type }) => getNamedType(type) instanceof GraphQLEnumType).map(nameOf),
  );
  field.resolve = (root, args: Told, context, info) => {
    const work = (): unknown => resolve(root, args, context, info);
    const audit = context.write?.audit;
    if (!audit) return work();
    const { principal, via, call } = context;
    const { http, agent = null } = call;
    const origin = http?.origin ?? call.origin ?? agent;
    // What somebody unknown types may be a password in the wrong field.
    const isKnown = principal.kind !== 'anonymous';
    return audit.during(
      {
        action: name,
        principal,
        address: origin?.address ?? '',
        userAgent: origin?.userAgent ?? '',
        via,
        agent,
        targetId: targetIdOf(args),
        input: isKnown ? toldOf(args, enums) : {},
        always,
      },
      work,
    );
  };
}

function nameOf({ name }: { name: string }): string {
  return name;
}

function showsOrRuns({ extensions }: Field): boolean {
  const { directives } = extensions as { directives?: unknown };
  return Array.isArray(directives) && directives.some((one) => one === 'secret' || one === 'exec');
}

// In this order: what a mutation is about comes before what it mentions.
const targetArguments = [
  'id',
  'appId',
  'databaseId',
  'deploymentId',
  'folderId',
  'userId',
  'teamId',
];

function targetIdOf(args: Told): string | null {
  for (const name of targetArguments) {
    const value = args[name];
    if (typeof value === 'string') return value.slice(0, idMax);
  }
  return null;
}

const idMax = 64;
const textMax = 200;
const itemsMax = 50;
const depthMax = 3;
// prettier-ignore
const tellableTexts: ReadonlySet<string> = new Set([
  'name', 'email', 'slug', 'key', 'source', 'capabilities', 'targets', 'engine', 'version', 'kind', 'cron',
  'timezone', 'provider', 'label', 'host', 'repository', 'branch', 'previewBranches', 'watchPaths', 'healthPath',
  'outputDir', 'dockerfile', 'nodeVersion', 'publicUrl', 'bucket', 'region', 'expiresAt', 'org',
]);

function isTellable(name: string): boolean {
  return tellableTexts.has(name) || name === 'id' || /Ids?$/.test(name);
}

function toldOf(args: Told, enums: ReadonlySet<string>, depth = 0): Told {
  const told: Told = {};
  for (const [name, value] of Object.entries(args)) {
    const shown = shownOf(name, value, enums, depth);
    if (shown !== undefined) told[name] = shown;
  }
  return told;
}

function shownOf(name: string, value: unknown, enums: ReadonlySet<string>, depth: number): unknown {
  if (typeof value === 'boolean' || typeof value === 'number') return value;
  if (typeof value === 'string') {
    return isTellable(name) || enums.has(name) ? tellable(value) : undefined;
  }
  if (depth >= depthMax) return undefined;
  if (Array.isArray(value)) {
    const items = value.slice(0, itemsMax).map((item) => shownOf(name, item, enums, depth + 1));
    return items.filter((item) => item !== undefined);
  }
  return isObject(value) ? toldOf(value, enums, depth + 1) : undefined;
}

/** Without what stands for a password in the address of a repository or a host. */
function tellable(text: string): string {
  return text.replace(/:\/\/[^/?#\s]*@/g, '://').slice(0, textMax);
}

function isObject(value: unknown): value is Told {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
