/**
 * Owns the compilation of queries, and of the events of subscriptions: functions that write the JSON of the answer,
 * without a result in between.
 *
 * 1. What one writes is byte for byte what graphql-js would answer. Where that would be an error, or
 *    is not plain to see, it refuses: graphql-js then runs the query and finds the words. Any other
 *    failure is a fault, which is told before graphql-js runs.
 * 2. A document is compiled whole or not at all. @skip and @include are decided when it is compiled:
 *    once for each combination of the variables that they name.
 * 3. What depends on a record and on the settings alone is written once for each record, and lists of
 *    such records once for each list (`RecordTexts`). Its writers are given nothing else.
 */
import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type FragmentSpreadNode,
  getDirectiveValues,
  getNamedType,
  GraphQLError,
  type GraphQLField,
  GraphQLIncludeDirective,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  GraphQLSkipDirective,
  isLeafType,
  isListType,
  type InlineFragmentNode,
  isNonNullType,
  isObjectType,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
  visit,
} from 'graphql';
import {
  argumentsReader,
  leafWriter,
  Unclear,
  type Values,
  variablesReader,
} from './compiled-values.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { GraphContext } from '../context.ts';
import type { ReadyDocument } from '../gate/documents.ts';
import type { RecordResolver } from '../record-fields.ts';
import type { RecordRun, RecordTexts } from './record-texts.ts';

/** The JSON of the answer, or of one event, which is `root`; null where graphql-js must find it out. */
export type CompiledQuery = (
  variables: Values,
  context: GraphContext,
  root?: unknown,
) => string | null;

export type OnFault = (cause: unknown) => void;

/** Null for a query, or for events, that are left to graphql-js, whatever the variables. */
export function compileQuery(
  schema: GraphQLSchema,
  ready: ReadyDocument,
  texts: RecordTexts,
  onFault: OnFault,
): CompiledQuery | null {
  const variants = new Variants(schema, ready, texts);
  const { variableDefinitions = [] } = ready.operation;
  const first = variants.names.length > 0 || attempt(() => variants.find(noVariables), onFault);
  if (first === null) return null;
  const variablesOf = variablesReader(schema, variableDefinitions);
  return (given, context, event = noRoot) =>
    attempt(() => {
      const variables = variablesOf(given);
      if (variables === undefined) throw new Unclear();
      const variant = variants.find(variables);
      const { settings } = context.read;
      const call: Call = { context, settings, variables, args: [], keeps: variant.hasRun };
      variant.hasRun = true;
      return `{"data":${variant.write(event, call)}}`;
    }, onFault);
}

/** Null where it refuses, or fails as graphql-js will: with an error that has words. */
function attempt<T>(work: () => T, onFault: OnFault): T | null {
  try {
    return work();
  } catch (error) {
    const isExpected =
      error instanceof Unclear || error instanceof ServiceError || error instanceof GraphQLError;
    if (!isExpected) onFault(error);
    return null;
  }
}

/** One run. */
interface Call extends RecordRun {
  readonly context: GraphContext;
  readonly variables: Values;
  /** Arguments that depend on variables, by the number of their field. */
  readonly args: Values[];
}

type Write<Run> = (value: unknown, run: Run) => string;

/** `record`: what is written depends on the value and the settings alone. */
type Writer = { kind: 'record'; write: Write<RecordRun> } | { kind: 'call'; write: Write<Call> };
type RecordWriter = Extract<Writer, { kind: 'record' }>;

/** A document compiled for one combination of what its directives are given. */
interface Variant {
  write: Write<Call>;
  /** The first run keeps no texts: most documents never come again. */
  hasRun: boolean;
}

// A document with more is left to graphql-js.
const variantsMax = 8;

class Variants {
  /** The variables of the operation that directives name. */
  readonly names: readonly string[];
  readonly #schema: GraphQLSchema;
  readonly #ready: ReadyDocument;
  readonly #texts: RecordTexts;
  readonly #known = new Map<string, Variant | null>();

  constructor(schema: GraphQLSchema, ready: ReadyDocument, texts: RecordTexts) {
    this.#schema = schema;
    this.#ready = ready;
    this.#texts = texts;
    const own = ready.operation.variableDefinitions?.map(({ variable }) => variable.name.value);
    this.names = [...directiveVariables(ready.document)].filter((name) => own?.includes(name));
  }

  find(variables: Values): Variant {
    const key = this.names.map((name) => String(variables[name])).join();
    const known = this.#known.get(key);
    if (known) return known;
    if (known === null || this.#known.size >= variantsMax) throw new Unclear();
    this.#known.set(key, null);
    const root = this.#schema.getRootType(this.#ready.operation.operation);
    if (!root) throw new Unclear();
    const compilation = new Compilation(this.#ready, this.#texts, variables);
    const { write } = compilation.object(root, [this.#ready.operation.selectionSet], true);
    const variant = { write, hasRun: false };
    this.#known.set(key, variant);
    return variant;
  }
}

function directiveVariables(document: DocumentNode): Set<string> {
  const names = new Set<string>();
  visit(document, {
    Directive: ({ arguments: given = [] }) => {
      for (const { value } of given) if (value.kind === Kind.VARIABLE) names.add(value.name.value);
    },
  });
  return names;
}

type Nodes = readonly [FieldNode, ...FieldNode[]];

const noRoot = Object.freeze({});
const noVariables: Values = Object.freeze({});
// No resolver asks for it.
const noInfo = undefined as unknown as GraphQLResolveInfo;

/** Fields of a compiled document; one of a fragment counts wherever that is spread. */
const fieldsMax = 1_000;

class Compilation {
  readonly #texts: RecordTexts;
  /** What directives are given. */
  readonly #variables: Values;
  readonly #fragments = new Map<string, FragmentDefinitionNode>();
  #fields = 0;
  #variableFields = 0;

  constructor({ document }: ReadyDocument, texts: RecordTexts, variables: Values) {
    this.#texts = texts;
    this.#variables = variables;
    for (const definition of document.definitions) {
      if (definition.kind !== Kind.FRAGMENT_DEFINITION) continue;
      this.#fragments.set(definition.name.value, definition);
    }
  }

  /** `remembers`: whether pure texts are kept here; else whoever holds the object keeps them. */
  object(
    type: GraphQLObjectType,
    sets: readonly (SelectionSetNode | undefined)[],
    remembers: boolean,
  ): Writer {
    if (type.isTypeOf) throw new Unclear();
    const nodes = new Map<string, [FieldNode, ...FieldNode[]]>();
    const spread = new Set<string>();
    for (const set of sets) this.#collect(type, set?.selections ?? [], nodes, spread);
    const fields = [...nodes].map(([key, same]) => this.#field(type, key, same));
    if (fields.every(isOfRecord)) {
      const write = objectWriter(joined(fields));
      return { kind: 'record', write: remembers ? this.#texts.remember(write) : write };
    }
    const parts = stretchesOf(fields).map((stretch) =>
      stretch.every(isOfRecord)
        ? { write: this.#texts.remember(joined(stretch)) }
        : { write: joined<Call>(stretch) },
    );
    return { kind: 'call', write: objectWriter(joined<Call>(parts)) };
  }

  /** Fields by response key, in the order in which they first come. */
  #collect(
    type: GraphQLObjectType,
    selections: readonly SelectionNode[],
    nodes: Map<string, [FieldNode, ...FieldNode[]]>,
    spread: Set<string>,
  ): void {
    for (const selection of selections) {
      if (!this.#isIncluded(selection)) continue;
      if (selection.kind === Kind.FIELD) {
        const key = (selection.alias ?? selection.name).value;
        const same = nodes.get(key);
        if (same) same.push(selection);
        else nodes.set(key, [selection]);
        continue;
      }
      const fragment = this.#fragment(selection, spread);
      if (!fragment) continue;
      const on = fragment.typeCondition?.name.value ?? type.name;
      if (on !== type.name) throw new Unclear();
      this.#collect(type, fragment.selectionSet.selections, nodes, spread);
    }
  }

  #isIncluded(node: SelectionNode): boolean {
    if (!node.directives || node.directives.length === 0) return true;
    const skip = getDirectiveValues(GraphQLSkipDirective, node, this.#variables);
    if (skip?.['if'] === true) return false;
    return getDirectiveValues(GraphQLIncludeDirective, node, this.#variables)?.['if'] !== false;
  }

  /** Null for one that was spread here before. */
  #fragment(
    selection: FragmentSpreadNode | InlineFragmentNode,
    spread: Set<string>,
  ): FragmentDefinitionNode | InlineFragmentNode | null {
    if (selection.kind === Kind.INLINE_FRAGMENT) return selection;
    const name = selection.name.value;
    if (spread.has(name)) return null;
    spread.add(name);
    const fragment = this.#fragments.get(name);
    if (!fragment) throw new Unclear();
    return fragment;
  }

  #field(parent: GraphQLObjectType, key: string, nodes: Nodes): Writer {
    if (++this.#fields > fieldsMax) throw new Unclear();
    const name = nodes[0].name.value;
    const before = `${JSON.stringify(key)}:`;
    if (name === '__typename') {
      const text = before + JSON.stringify(parent.name);
      return { kind: 'record', write: () => text };
    }
    const field = parent.getFields()[name];
    if (!field) throw new Unclear();
    const readOff = recordResolver(field);
    const value = this.#value(field.type, nodes, readOff === null);
    if (readOff) return read(before, readOff, value);
    const { resolve } = field;
    if (!resolve) throw new Unclear();
    const { write } = value;
    const argsOf = this.#argsOf(field, nodes[0]);
    return {
      kind: 'call',
      write: (record, call) =>
        before + write(resolve(record, argsOf(call), call.context, noInfo), call),
    };
  }

  #argsOf(field: GraphQLField<unknown, unknown>, node: FieldNode): (call: Call) => Values {
    const { variable, read } = argumentsReader(field, node);
    if (!variable) {
      const args = read(noVariables);
      return () => args;
    }
    const at = this.#variableFields++;
    return ({ args, variables }) => (args[at] ??= read(variables));
  }

  #value(type: GraphQLOutputType, nodes: Nodes, remembers: boolean): Writer {
    const isRequired = isNonNullType(type);
    const present = this.#present(isRequired ? type.ofType : type, nodes, remembers);
    return isRequired ? mapped(present, required) : mapped(present, nullable);
  }

  /** Of a value that is there. */
  #present(type: GraphQLOutputType, nodes: Nodes, remembers: boolean): Writer {
    if (isLeafType(type)) return { kind: 'record', write: leafWriter(type) };
    if (isListType(type)) {
      const list = mapped(this.#value(type.ofType, nodes, remembers), listWriter);
      const keeps = list.kind === 'record' && remembers && !isLeafType(getNamedType(type));
      return keeps ? { kind: 'record', write: this.#texts.rememberList(list.write) } : list;
    }
    if (!isObjectType(type)) throw new Unclear();
    return this.object(
      type,
      nodes.map((node) => node.selectionSet),
      remembers,
    );
  }
}

/** What a field reads off its record; null for one that does anything else. */
function recordResolver(field: GraphQLField<unknown, unknown>): RecordResolver | null {
  const { ofRecord, pothosExposedField: exposed } = field.extensions;
  if (typeof ofRecord === 'function') return ofRecord as RecordResolver;
  if (field.resolve && typeof exposed !== 'string') return null;
  const name = typeof exposed === 'string' ? exposed : field.name;
  return (record) => (record as Values)[name];
}

function isOfRecord(writer: Writer): writer is RecordWriter {
  return writer.kind === 'record';
}

/** Writes what is read off a record, with what stands before it. */
function read(before: string, readOff: RecordResolver, value: Writer): Writer {
  const reading =
    <Run extends RecordRun>(write: Write<Run>): Write<Run> =>
    (record, run) =>
      before + write(readOff(record, run.settings), run);
  return mapped(value, reading);
}

/** The same kind of writer, around another. */
function mapped(
  writer: Writer,
  around: <Run extends RecordRun>(write: Write<Run>) => Write<Run>,
): Writer {
  return writer.kind === 'record'
    ? { kind: 'record', write: around(writer.write) }
    : { kind: 'call', write: around(writer.write) };
}

function required<Run>(write: Write<Run>): Write<Run> {
  return (value, run) => {
    if (value == null) throw new Unclear();
    return write(value, run);
  };
}

function nullable<Run>(write: Write<Run>): Write<Run> {
  return (value, run) => (value == null ? 'null' : write(value, run));
}

/** Fields next to each other that are alike of their record, or not. */
function stretchesOf(fields: readonly Writer[]): Writer[][] {
  const stretches: Writer[][] = [];
  for (const field of fields) {
    const last = stretches.at(-1);
    if (last?.[0]?.kind === field.kind) last.push(field);
    else stretches.push([field]);
  }
  return stretches;
}

// Pieces are added up, not joined: the whole is copied once then, when it is encoded.

function joined<Run>(writers: readonly { write: Write<Run> }[]): Write<Run> {
  return (value, call) => {
    let text = '';
    for (const { write } of writers) text += (text === '' ? '' : ',') + write(value, call);
    return text;
  };
}

function objectWriter<Run>(members: Write<Run>): Write<Run> {
  return (value, call) => {
    if (typeof value !== 'object' || value === null) throw new Unclear();
    // The interpreter throws the one, and waits for the other.
    if (value instanceof Error || value instanceof Promise) throw new Unclear();
    return `{${members(value, call)}}`;
  };
}

function listWriter<Run>(write: Write<Run>): Write<Run> {
  return (value, call) => {
    if (!Array.isArray(value)) throw new Unclear();
    let text = '';
    for (const item of value) text += (text === '' ? '' : ',') + write(item, call);
    return `[${text}]`;
  };
}
