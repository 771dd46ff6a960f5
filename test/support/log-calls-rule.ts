/**
 * Owns the house rule `log-calls`: what a call of a logger may say. It promises:
 * 1. What was thrown is the field `err`, the one name under which pino writes a message and a stack:
 *    `error`, and any other field that holds an error or a thrown value, is refused, however the
 *    fields came together.
 * 2. An event's name is known to the compiler and is words in lower case joined by `_`, so that who
 *    watches a log can rely on it.
 */
import type { Rule } from 'eslint';
import ts from 'typescript';

const levels: ReadonlySet<string> = new Set(['debug', 'info', 'warn', 'error', 'fatal']);
const loggerName = /^log(ger)?$/i;
const eventName = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;

/** What typescript-eslint's parser offers to rules that ask for types. */
interface TypeServices {
  program: ts.Program;
  getTypeAtLocation: (node: Rule.Node) => ts.Type;
}

export const logCalls: Rule.RuleModule = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      field: 'An error is logged as `err`: as `{{ field }}` its message and stack would be lost.',
      event: 'The name of an event is a literal of the form `app_not_started`.',
    },
  },
  create(context) {
    const services = context.sourceCode.parserServices as TypeServices;
    return {
      CallExpression(node) {
        const [fields, event] = node.arguments;
        if (fields === undefined || !isLogCall(node.callee)) return;
        const field = lostError(services, fields as Rule.Node);
        if (field !== null) context.report({ node: fields, messageId: 'field', data: { field } });
        const isNamed = event !== undefined && isEventName(services, event as Rule.Node);
        if (!isNamed) context.report({ node: event ?? node, messageId: 'event' });
      },
    };
  },
};

type Callee = Extract<Rule.Node, { type: 'CallExpression' }>['callee'];

function isLogCall(callee: Callee): boolean {
  if (callee.type !== 'MemberExpression' || !('name' in callee.property)) return false;
  if (!levels.has(callee.property.name)) return false;
  const { object } = callee;
  if (object.type === 'Identifier') return loggerName.test(object.name);
  if (object.type !== 'MemberExpression' || !('name' in object.property)) return false;
  return loggerName.test(object.property.name);
}

/** The first field that holds an error under a name that pino does not know. */
function lostError(services: TypeServices, fields: Rule.Node): string | null {
  const checker = services.program.getTypeChecker();
  for (const field of services.getTypeAtLocation(fields).getProperties()) {
    if (field.name === 'err') continue;
    if (field.name === 'error' || mayBeError(checker.getTypeOfSymbol(field))) return field.name;
  }
  return null;
}

function mayBeError(type: ts.Type): boolean {
  if (type.isUnion()) return type.types.some(mayBeError);
  if (type.flags & ts.TypeFlags.Unknown) return true;
  return type.getProperty('message') !== undefined && type.getProperty('stack') !== undefined;
}

function isEventName(services: TypeServices, event: Rule.Node): boolean {
  const type = services.getTypeAtLocation(event);
  const names = type.isUnion() ? type.types : [type];
  return names.every((one) => one.isStringLiteral() && eventName.test(one.value));
}
