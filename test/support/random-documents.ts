/**
 * Random documents over a schema: fields, arguments, aliases, fragments, directives and variables.
 * Most of them are valid; some name an operation, give too few variables, or values that do not fit.
 */
import fc from 'fast-check';
import {
  getNamedType,
  getNullableType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLObjectType,
  isEnumType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';

export interface RandomDocument {
  query: string;
  variables: Record<string, unknown>;
}

/** Values that mean something, by the name of the argument. */
export type Texts = Readonly<Record<string, readonly string[]>>;

const depthMax = 4;
// Beyond it only leaves are added.
const selectionsMax = 40;
// Any of them may hide another field, so that few documents with two of them are valid.
const traps = ['id', 'nodes', '__proto__', 'constructor'];
const numbers = [0, 1, 2, 3, 5, 10, 20, 20, 501, -1];

/** A query whose fields are those of `root`, drawn from `draw`. */
export function randomDocument(
  draw: fc.GeneratorValue,
  root: GraphQLObjectType,
  texts: Texts,
): RandomDocument {
  return new Draft(draw, texts).document(root);
}

class Draft {
  readonly #draw: fc.GeneratorValue;
  readonly #texts: Texts;
  readonly #declared: string[] = [];
  readonly #variables: Record<string, unknown> = {};
  readonly #fragments: { name: string; on: string; text: string }[] = [];
  #selected = 0;

  constructor(draw: fc.GeneratorValue, texts: Texts) {
    this.#draw = draw;
    this.#texts = texts;
  }

  document(root: GraphQLObjectType): RandomDocument {
    const selections = this.#selections(root, 0);
    const declared = this.#declared.length === 0 ? '' : `(${this.#declared.join(', ')})`;
    const fragments = this.#fragments.map(
      ({ name, on, text }) => `fragment ${name} on ${on} ${text}`,
    );
    const query = [`query Q${declared} ${selections}`, ...fragments].join('\n');
    return { query, variables: this.#variables };
  }

  #chance(percent: number): boolean {
    return this.#draw(fc.nat, { max: 99 }) < percent;
  }

  #pick<T>(items: readonly [T, ...T[]] | readonly T[]): T {
    const item = items[this.#draw(fc.nat, { max: items.length - 1 })];
    if (item === undefined) throw new Error('There is nothing to pick from.');
    return item;
  }

  #selections(type: GraphQLObjectType, depth: number): string {
    const count = 1 + this.#draw(fc.nat, { max: depth === 0 ? 2 : 4 });
    const parts = Array.from({ length: count }, () => this.#selection(type, depth));
    return `{ ${parts.join(' ')} }`;
  }

  #selection(type: GraphQLObjectType, depth: number): string {
    const isLarge = this.#selected++ > selectionsMax;
    if (!isLarge && this.#chance(12)) {
      const on = this.#chance(60) ? ` on ${type.name}` : '';
      return `...${on}${this.#directives()} ${this.#selections(type, depth)}`;
    }
    if (!isLarge && this.#chance(12))
      return `...${this.#fragment(type, depth)}${this.#directives()}`;
    if (this.#chance(6)) return `${this.#alias('__typename')}__typename${this.#directives()}`;
    const fields = Object.values(type.getFields()).filter(
      (field) => (depth < depthMax && !isLarge) || !isObjectType(getNamedType(field.type)),
    );
    const [first] = fields;
    return first ? this.#field(this.#pick(fields), depth) : '__typename';
  }

  #field(field: GraphQLField<unknown, unknown>, depth: number): string {
    const below = getNamedType(field.type);
    const args = this.#arguments(field.args);
    // Two fields of one response key must have the same arguments.
    const alias =
      args === '' || this.#chance(30) ? this.#alias(field.name) : `f${this.#selected}: `;
    const head = `${alias}${field.name}${args}${this.#directives()}`;
    return isObjectType(below) ? `${head} ${this.#selections(below, depth + 1)}` : head;
  }

  #alias(name: string): string {
    if (!this.#chance(15)) return '';
    return this.#chance(15) ? `${this.#pick(traps)}: ` : `${name}2: `;
  }

  #fragment(type: GraphQLObjectType, depth: number): string {
    const known = this.#fragments.filter(({ on }) => on === type.name);
    if (known.length > 0 && this.#chance(60)) return this.#pick(known).name;
    const text = this.#selections(type, Math.max(depth, 2));
    const name = `F${this.#fragments.length}`;
    this.#fragments.push({ name, on: type.name, text });
    return name;
  }

  #directives(): string {
    if (!this.#chance(12)) return '';
    const given = (): string =>
      this.#chance(50)
        ? String(this.#chance(50))
        : this.#variable('Boolean!', () => this.#chance(50));
    const skip = (): string => ` @skip(if: ${given()})`;
    const include = (): string => ` @include(if: ${given()})`;
    return this.#pick([skip, include, () => skip() + include()])();
  }

  #arguments(args: readonly GraphQLArgument[]): string {
    const given = args.flatMap((argument) => {
      const isNeeded = isNonNullType(argument.type);
      if (!isNeeded && this.#chance(55)) return [];
      return [`${argument.name}: ${this.#argument(argument)}`];
    });
    return given.length === 0 ? '' : `(${given.join(', ')})`;
  }

  #argument({ name, type }: GraphQLArgument): string {
    if (this.#chance(40)) return this.#variable(String(type), () => this.#value(name, type));
    if (!isNonNullType(type) && this.#chance(10)) return 'null';
    const value = this.#value(name, type);
    return isEnumType(getNamedType(type)) ? String(value) : JSON.stringify(value);
  }

  #value(name: string, type: GraphQLInputType): unknown {
    const bare = getNullableType(type);
    if (isListType(bare)) return [this.#value(name, bare.ofType)];
    if (isEnumType(bare)) return this.#pick(bare.getValues()).name;
    const named = getNamedType(bare).name;
    if (named === 'Int' || named === 'Float') return this.#pick(numbers);
    if (named === 'Boolean') return this.#chance(50);
    return this.#pick(this.#texts[name] ?? ['none']);
  }

  /** A variable of a type; one of the same type is now and then used again. */
  #variable(type: string, value: () => unknown): string {
    const name = `v${this.#declared.length}`;
    const bare = type.replace(/!$/, '');
    const hasPreset = bare !== 'ID' && this.#chance(15);
    const preset = hasPreset ? presets[bare] : undefined;
    this.#declared.push(
      preset === undefined ? `$${name}: ${type}` : `$${name}: ${bare} = ${preset}`,
    );
    if (this.#chance(96)) this.#variables[name] = this.#chance(2) ? null : value();
    else if (this.#chance(30)) this.#variables[name] = { no: 'value' };
    return `$${name}`;
  }
}

const presets: Readonly<Record<string, string>> = { Int: '2', String: '"one"', Boolean: 'true' };
