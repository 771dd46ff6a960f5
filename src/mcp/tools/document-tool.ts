/**
 * Owns tools that consist of a document: its `data` is the structured content, so the listed schema follows
 * from the document.
 *
 * 1. A page that would not fit is requested again with fewer entries, so that its cursor stays right.
 */
import type { GraphQLSchema } from 'graphql';
import type { Variables } from '../../graphql/execution/operation.ts';
import type { GraphqlReply, Tool, ToolArguments, ToolCall, ToolOutcome } from '../tool.ts';
import { outputOf } from '../output.ts';
import { fits } from '../results.ts';
import { without } from './app-argument.ts';

export interface DocumentTool extends Pick<
  Tool,
  'name' | 'description' | 'group' | 'effect' | 'needs' | 'input'
> {
  idempotent?: boolean;
  /** One operation, written out in fields. */
  document: string;
  /** The variables of the document; default: the arguments by their names. */
  variables?: (args: ToolArguments, call: ToolCall) => Variables | Promise<Variables>;
  /** The member of `data` that is null when nothing was found, and the sentence that says so. */
  absent?: readonly [member: string, sentence: string];
  /**
   * The app, by id or slug, whose secrets the answer is searched for besides those of databases; undefined:
   * those of every app of the team. Without this function the answer is not searched.
   */
  redacted?: (args: ToolArguments, json: string) => string | undefined;
  /** As in `Tool`; default: true for reading tools that are not redacted. */
  repeatable?: boolean;
}

export function documentTool(schema: GraphQLSchema, tool: DocumentTool): Tool {
  const { document, variables = withoutTeam, absent, redacted } = tool;
  const isRepeatable = tool.repeatable ?? (tool.effect === 'reads' && !redacted);
  const finish = (
    reply: GraphqlReply,
    args: ToolArguments,
    call: ToolCall,
  ): ToolOutcome | Promise<ToolOutcome> => {
    const outcome = outcomeOf(reply, absent);
    if (outcome.kind !== 'structured' || !redacted) return outcome;
    const { json } = outcome;
    const app = redacted(args, json);
    const told = (): ToolOutcome => ({ kind: 'structured', json: call.redact(json, app) });
    const opening = call.openSecrets(app);
    return opening === null ? told() : opening.then(told);
  };
  const runPage = (
    call: ToolCall,
    given: Variables,
    args: ToolArguments,
  ): ToolOutcome | Promise<ToolOutcome> => {
    const settle = (reply: GraphqlReply): ToolOutcome | Promise<ToolOutcome> => {
      const first = shorter(given['first'], reply);
      if (first === null) return finish(reply, args, call);
      return runPage(call, { ...given, first }, args);
    };
    const reply = call.graphql(document, given);
    return reply instanceof Promise ? reply.then(settle) : settle(reply);
  };
  return {
    name: tool.name,
    description: tool.description,
    group: tool.group,
    effect: tool.effect,
    idempotent: tool.idempotent ?? false,
    needs: tool.needs,
    input: tool.input,
    output: outputOf(schema, document),
    repeatable: isRepeatable,
    run: (call, args) => {
      const given = variables(args, call);
      if (given instanceof Promise) return given.then((one) => runPage(call, one, args));
      return runPage(call, given, args);
    },
  };
}

/** The `first` with which the page fits; null when it fits already, or cannot be made to fit. */
function shorter(first: unknown, { dataJson }: GraphqlReply): number | null {
  if (typeof first !== 'number' || first <= 1 || fits(dataJson)) return null;
  const share = Math.min(0.9, pageChars / dataJson.length);
  return Math.max(1, Math.floor(first * share));
}

// About half of a result, because the data stands in it twice: as it is and as text.
const pageChars = 9_500;

export function outcomeOf(
  reply: GraphqlReply,
  absent?: readonly [member: string, sentence: string],
): ToolOutcome {
  if (!reply.clean) return { kind: 'failed', sentence: reply.errors.join('\n') };
  if (absent && reply.dataJson.startsWith(`{"${absent[0]}":null`)) {
    return { kind: 'failed', sentence: absent[1] };
  }
  return { kind: 'structured', json: reply.dataJson };
}

function withoutTeam(args: ToolArguments): Variables {
  return without(args, 'team');
}
