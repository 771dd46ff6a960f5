/**
 * Owns what no document may name that comes over MCP: fields that show a credential, run a command
 * in a container, or belong to the account of a person and not to the work of a team.
 *
 * 1. The field's name alone decides, whatever its parent, alias or directives are, in every operation
 *    and fragment of the document, used or not: what is judged is what is written.
 * 2. The names come from the directives of the schema. Some hold by rule besides, so that a name is
 *    refused before its field is built, and where a directive was forgotten.
 * 3. A payload that exists to hand over a credential once makes the whole mutation refused: to run it
 *    without asking for the credential would only lose it.
 */
import {
  type DocumentNode,
  type FieldNode,
  getNamedType,
  type GraphQLField,
  type GraphQLFormattedError,
  type GraphQLObjectType,
  type GraphQLSchema,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionSetNode,
} from 'graphql';
import { ServiceError } from '../../lib/errors.ts';
import { formatRefusalAt } from '../errors.ts';

/** Why a field is refused. */
export type Exposing = 'secret' | 'exec' | 'account';

/** What of a document is refused over MCP, as errors; both empty for most. */
export interface Exposed {
  /** One for each name, where it stands first. */
  readonly fields: readonly GraphQLFormattedError[];
  /** One for each operation. Only the service itself may subscribe over MCP. */
  readonly subscriptions: readonly GraphQLFormattedError[];
}

export const exposesNothing: Exposed = { fields: [], subscriptions: [] };

const byPrefix: ReadonlyMap<string, Exposing> = new Map([
  ['reveal', 'secret'],
  ['rotate', 'secret'],
  ['exec', 'exec'],
]);

const byName: ReadonlyMap<string, Exposing> = new Map([
  ...names('secret', [
    'addServer', 'createToken', 'destinationRecoveryKey', 'inviteMember', 'reissueServerBootstrap',
    'startGithubConnect', 'webhookUrl',
  ]),
  ...names('account', [
    'acceptInvite', 'changePassword', 'completeSetup', 'confirmTwoFactorEnrolment',
    'disableTwoFactor', 'login', 'logout', 'mySessions', 'revokeSession',
    'startTwoFactorEnrolment', 'switchTeam', 'verifyTwoFactorLogin',
  ]),
]); // prettier-ignore

/** What queries and mutations of two-factor and of sessions are called, those to come included. */
const accountOperation = /twoFactor|session/i;

const errorsMax = 5;

/** What one schema has to hide, made once a thread. */
export class Exposure {
  readonly #names: ReadonlyMap<string, Exposing>;

  constructor(schema: GraphQLSchema) {
    this.#names = new Map([...byName, ...derive(schema)]);
  }

  /** Why a field of this name is refused over MCP; null where it is not. */
  of(name: string): Exposing | null {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    for (const [prefix, exposing] of byPrefix) if (name.startsWith(prefix)) return exposing;
    return null;
  }

  /** Looks at everything written in a document. Linear in its size. */
  judge(document: DocumentNode): Exposed {
    const found = new Map<string, FieldNode>();
    const subscriptions: OperationDefinitionNode[] = [];
    for (const definition of document.definitions) {
      if ('selectionSet' in definition) this.#collect(definition.selectionSet, found);
      if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
      if (definition.operation === OperationTypeNode.SUBSCRIPTION) subscriptions.push(definition);
    }
    if (found.size === 0 && subscriptions.length === 0) return exposesNothing;
    return {
      fields: [...found.values()].slice(0, errorsMax).map((node) => this.#refuse(node)),
      subscriptions: subscriptions.slice(0, errorsMax).map(refuseSubscription),
    };
  }

  #collect({ selections }: SelectionSetNode, found: Map<string, FieldNode>): void {
    for (const selection of selections) {
      if (selection.kind === Kind.FRAGMENT_SPREAD) continue;
      if (selection.kind === Kind.FIELD) {
        const name = selection.name.value;
        if (!found.has(name) && this.of(name) !== null) found.set(name, selection);
      }
      if (selection.selectionSet) this.#collect(selection.selectionSet, found);
    }
  }

  #refuse(node: FieldNode): GraphQLFormattedError {
    const field = node.name.value;
    const sentence = `${reasons[this.of(field) ?? 'secret']}: ${field} is refused over MCP.`;
    return formatRefusalAt(
      node,
      new ServiceError('FORBIDDEN', sentence, { extensions: { field } }),
    );
  }
}

/** The names of the directives on a field. */
export function directivesOf(extensions: Readonly<Record<string, unknown>> | undefined): string[] {
  const marks = extensions?.['directives'];
  return Array.isArray(marks) ? marks.map(String) : [];
}

const reasons: Readonly<Record<Exposing, string>> = {
  secret: 'MCP never shows a secret',
  exec: 'MCP runs no command in a container',
  account: 'MCP does not reach the account of a person',
};

function refuseSubscription(node: OperationDefinitionNode): GraphQLFormattedError {
  const sentence = 'MCP takes no subscriptions: ask by a query instead.';
  return formatRefusalAt(node, new ServiceError('FORBIDDEN', sentence));
}

function names(exposing: Exposing, list: readonly string[]): [string, Exposing][] {
  return list.map((name) => [name, exposing]);
}

function* derive(schema: GraphQLSchema): Iterable<[string, Exposing]> {
  const mutation = schema.getMutationType();
  const lasting = new Set<GraphQLObjectType>();
  for (const [type, field] of fieldsOf(schema)) {
    const marks = directivesOf(field.extensions);
    if (marks.includes('exec')) yield [field.name, 'exec'];
    if (marks.includes('secret')) yield [field.name, 'secret'];
    const payload = getNamedType(field.type);
    if (type !== mutation && isObjectType(payload)) lasting.add(payload);
    const isRoot = type === mutation || type === schema.getQueryType();
    if (isRoot && accountOperation.test(field.name)) yield [field.name, 'account'];
  }
  // What can be asked for later as well, like a variable of an app, is refused field by field.
  for (const field of Object.values(mutation?.getFields() ?? {})) {
    const payload = getNamedType(field.type);
    if (isObjectType(payload) && !lasting.has(payload) && holdsSecret(payload)) {
      yield [field.name, 'secret'];
    }
  }
}

function holdsSecret(type: GraphQLObjectType): boolean {
  return Object.values(type.getFields()).some((field) =>
    directivesOf(field.extensions).includes('secret'),
  );
}

function* fieldsOf(
  schema: GraphQLSchema,
): Iterable<[GraphQLObjectType, GraphQLField<unknown, unknown>]> {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue;
    for (const field of Object.values(type.getFields())) yield [type, field];
  }
}
