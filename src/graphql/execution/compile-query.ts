/**
 * Owns the compilation of queries: functions that write the JSON of the answer, without a result in
 * between.
 *
 * 1. What one writes is byte for byte what graphql-js would answer. Where that would be an error, or
 *    is not plain to see, it writes nothing: the interpreter then runs the query and finds the words.
 * 2. A document is compiled whole or not at all. It has no directives, and no types whose objects
 *    must be told apart.
 * 3. Fields that depend on their record alone are written once for each record, and lists of such
 *    records once for each list (`RecordTexts`).
 */
import {
  type FieldNode,
  type FragmentDefinitionNode,
  type FragmentSpreadNode,
  getNamedType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  isLeafType,
  isListType,
  type InlineFragmentNode,
  isNonNullType,
  isObjectType,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import { argumentsReader, type Values, variablesReader } from './compiled-values.ts';
import type { GraphContext } from '../context.ts';
import type { ReadyDocument } from '../gate/documents.ts';
import { leafWriter } from './leaf-texts.ts';
import type { RecordTexts, TextRun } from './record-texts.ts';

/** The JSON of the answer; null where the interpreter must find it out. */
export type CompiledQuery = (variables: Values, context: GraphContext) => string | null;

/** Null for a query that is left to the interpreter. */
export function compileQuery(
  schema: GraphQLSchema,
  ready: ReadyDocument,
  texts: RecordTexts,
): CompiledQuery | null {
  const { selectionSet, variableDefinitions = [] } = ready.operation;
  const root = schema.getQueryType();
  const data =
    root && attempt(() => new Compilation(schema, ready, texts).object(root, [selectionSet], true));
  if (!data) return null;
  const variablesOf = variablesReader(schema, variableDefinitions);
  let keeps = false;
  return (given, context) => {
    const variables = variablesOf(given);
    if (variables === undefined) return null;
    const call: Call = { context, variables, args: [], keeps };
    keeps = true;
    return attempt(() => `{"data":${data.write(noRoot, call)}}`);
  };
}

/** Null where it throws, whatever it was: the interpreter meets that, too, and has the words for it. */
function attempt<T>(work: () => T): T | null {
  try {
    return work();
  } catch {
    return null;
  }
}

/** One run; the first of a document keeps no texts. */
interface Call extends TextRun {
  readonly context: GraphContext;
  readonly variables: Values;
  /** Arguments that depend on variables, by the number of their field. */
  readonly args: Values[];
}

interface Writer {
  write: (value: unknown, call: Call) => string;
  /** Whether that depends on the value alone. */
  pure: boolean;
}

type Nodes = readonly [FieldNode, ...FieldNode[]];

const noRoot = Object.freeze({});
const noVariables: Values = Object.freeze({});
// No resolver asks for it; one that did would throw, and be interpreted.
const noInfo = undefined as unknown as GraphQLResolveInfo;

/** Fields of a compiled document; one of a fragment counts wherever that is spread. */
const fieldsMax = 1_000;

class Unclear extends Error {}

class Compilation {
  readonly #schema: GraphQLSchema;
  readonly #texts: RecordTexts;
  readonly #fragments = new Map<string, FragmentDefinitionNode>();
  #fields = 0;
  #variableFields = 0;

  constructor(schema: GraphQLSchema, { document }: ReadyDocument, texts: RecordTexts) {
    this.#schema = schema;
    this.#texts = texts;
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
    if (fields.every((field) => field.pure)) {
      const write = objectWriter(joined(fields));
      return { write: remembers ? this.#texts.remember(write) : write, pure: true };
    }
    const parts = stretchesOf(fields).map((stretch) => {
      const write = joined(stretch);
      return { write: stretch[0]?.pure === true ? this.#texts.remember(write) : write };
    });
    return { write: objectWriter(joined(parts)), pure: false };
  }

  /** Fields by response key, in the order in which they first come. */
  #collect(
    type: GraphQLObjectType,
    selections: readonly SelectionNode[],
    nodes: Map<string, [FieldNode, ...FieldNode[]]>,
    spread: Set<string>,
  ): void {
    for (const selection of selections) {
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
      return { write: () => text, pure: true };
    }
    const field = parent.getFields()[name];
    if (!field) throw new Unclear();
    const { resolve } = field;
    const alone = !resolve || field.extensions['ofRecord'] === true;
    const { write, pure } = this.#value(field.type, nodes, !alone);
    if (!resolve) {
      return { write: (of, call) => before + write((of as Values)[name], call), pure };
    }
    const argsOf = this.#argsOf(field, nodes[0]);
    return {
      write: (of, call) => before + write(resolve(of, argsOf(call), call.context, noInfo), call),
      pure: alone && pure,
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
    if (isNonNullType(type)) {
      const { write, pure } = this.#present(type.ofType, nodes, remembers);
      return {
        write: (value, call) => {
          if (value == null) throw new Unclear();
          return write(value, call);
        },
        pure,
      };
    }
    const { write, pure } = this.#present(type, nodes, remembers);
    return { write: (value, call) => (value == null ? 'null' : write(value, call)), pure };
  }

  /** Of a value that is there. */
  #present(type: GraphQLOutputType, nodes: Nodes, remembers: boolean): Writer {
    if (isLeafType(type)) return { write: leafWriter(type), pure: true };
    if (isListType(type)) {
      const { write, pure } = this.#value(type.ofType, nodes, remembers);
      const writeList = listWriter(write);
      const keeps = pure && remembers && !isLeafType(getNamedType(type));
      return { write: keeps ? this.#texts.rememberList(writeList) : writeList, pure };
    }
    if (!isObjectType(type)) throw new Unclear();
    return this.object(
      type,
      nodes.map((node) => node.selectionSet),
      remembers,
    );
  }
}

/** Fields next to each other that are alike pure, or not. */
function stretchesOf(fields: readonly Writer[]): Writer[][] {
  const stretches: Writer[][] = [];
  for (const field of fields) {
    const last = stretches.at(-1);
    if (last?.[0]?.pure === field.pure) last.push(field);
    else stretches.push([field]);
  }
  return stretches;
}

// Pieces are added up, not joined: the whole is copied once then, when it is encoded.

function joined(writers: readonly Pick<Writer, 'write'>[]): Writer['write'] {
  return (value, call) => {
    let text = '';
    for (const { write } of writers) text += (text === '' ? '' : ',') + write(value, call);
    return text;
  };
}

function objectWriter(members: Writer['write']): Writer['write'] {
  return (value, call) => {
    if (typeof value !== 'object' || value === null) throw new Unclear();
    // The interpreter throws the one, and waits for the other.
    if (value instanceof Error || value instanceof Promise) throw new Unclear();
    return `{${members(value, call)}}`;
  };
}

function listWriter(write: Writer['write']): Writer['write'] {
  return (value, call) => {
    if (!Array.isArray(value)) throw new Unclear();
    let text = '';
    for (const item of value) text += (text === '' ? '' : ',') + write(item, call);
    return `[${text}]`;
  };
}
