/**
 * Owns `tools/call`: from the name and the arguments to the bytes of the result.
 *
 * 1. A tool whose capability the token was not given is 403 `insufficient_scope`, with all scopes that a
 *    wider token needs. GraphQL refuses what the token's owner may not do; the result is then an error.
 * 2. The call runs in the team that `team` names, where MCP must be on, else in the connection's own.
 * 3. One token has at most `callsAtOnce` calls under way, over all threads.
 * 4. When the service drains, a waiting tool answers with the state so far.
 * 5. An answer is reused only for the same caller, tool and arguments, at the same position of the journal.
 */
import { callerOf } from '../auth/callers/principal.ts';
import { AnswerReuse } from '../graphql/execution/answer-reuse.ts';
import { asServiceError, ServiceError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { shownText } from '../lib/names.ts';
import { OwnTally, type Tally } from '../lib/tally.ts';
import {
  isObject,
  notificationJson,
  ReadyResult,
  resultJson,
  rpcCodes,
  type RpcId,
} from '../protocol/json-rpc.ts';
import { answerFault, answerJson, answerReady, type McpAnswer, type McpRequest } from './answer.ts';
import type { Catalog, Selection } from './catalog.ts';
import type { CallOutcome } from './counts.ts';
import type { McpPrincipal, Tool, ToolArguments, ToolCall, ToolOutcome } from './tool.ts';
import { type CallRedaction, GraphqlCall, type GraphqlDoor } from './graphql-call.ts';
import { paramFault } from './header-value.ts';
import type { MessageContent } from './known-messages.ts';
import { outcomeJson, ResultBytes } from './results.ts';
import { capabilityFault, type Era, mcpCodes, metaOf, nameFault } from './revision.ts';
import type { Rights } from './rights.ts';

export interface ToolCallsOptions {
  rights: Rights;
  door: GraphqlDoor;
  /** The position of the journal. */
  position: () => number;
  redaction: CallRedaction;
  /** The address where clients learn how to get a wider token. */
  resourceMetadata: () => string;
  logger: Logger;
  callsAtOnce: number;
  /** Calls under way by token; default: those of this thread. */
  underWay?: Tally;
  /** Called for every call of a tool. */
  onCall?: (note: CallNote) => void;
}

export interface CallNote {
  /** Acts in the team of the call, or in its own team when the call was refused. */
  principal: McpPrincipal;
  tool: Tool;
  /** The client's own name; null when it gives none. */
  client: string | null;
  outcome: CallOutcome;
}

export interface CallRequest extends McpRequest {
  id: RpcId;
  content: MessageContent;
  era: Era;
  selection: Selection;
}

/** Milliseconds that a slow tool may take: clients give up on a silent answer after a minute. */
const patienceMs = 55_000;
const patienceWithEventsMs = 600_000;
/** The limit of reusable answers. */
const reuseBytes = 8 * 1024 * 1024;
/** Valid arguments are shorter than this, so no answer to a longer message is kept. */
const reusedBytesMax = 16 * 1024;

export class ToolCalls {
  readonly #options: ToolCallsOptions;
  readonly #catalog: Catalog;
  readonly #tail: string;
  readonly #results: ResultBytes;
  readonly #reuse = new AnswerReuse(reuseBytes);
  readonly #underWay: Tally;
  readonly #draining = new AbortController();

  constructor(options: ToolCallsOptions, catalog: Catalog, tail: string) {
    this.#options = options;
    this.#catalog = catalog;
    this.#tail = tail;
    this.#results = new ResultBytes(tail);
    this.#underWay = options.underWay ?? new OwnTally();
  }

  /** Ends the waiting calls, which answer with the state so far. */
  drain(): void {
    this.#draining.abort();
  }

  answer(request: CallRequest): McpAnswer | Promise<McpAnswer> {
    const { id, content, era, header, selection, principal } = request;
    const { name, arguments: args = {} } = content.params;
    if (typeof name !== 'string' || !isObject(args)) {
      const message = 'tools/call takes name, a string, and arguments, an object.';
      return answerFault(200, id, { code: rpcCodes.invalidParams, message });
    }
    const wrongName = era === 'modern' ? nameFault(header, name) : null;
    if (wrongName) return answerFault(400, id, wrongName);
    const tool = this.#catalog.find(name, selection);
    if (!tool) {
      const message = `Unknown tool: ${shownText(name, 100)}`;
      return answerFault(200, id, { code: rpcCodes.invalidParams, message });
    }
    if (era === 'modern') {
      const fault =
        capabilityFault(content.params, tool.needsOfClient ?? {}) ??
        paramFault(header, this.#catalog.headerParams(tool), args, mcpCodes.headerMismatch);
      if (fault) return answerFault(400, id, fault);
    }
    this.#requireScope(request, tool);
    const isRepeatable = tool.repeatable === true && request.body.length <= reusedBytesMax;
    const key = isRepeatable ? content.callKey : null;
    const known = key && this.#reuse.get(principal, key, this.#options.position());
    if (known) {
      // The same call was answered at this position of the journal, so the team was checked then.
      const acting = this.#acting(principal, args['team']);
      this.#note(request, tool, 'ok', typeof acting === 'string' ? principal : acting);
      return answerReady(id, new ReadyResult(known));
    }
    return this.#run(request, tool, args, key);
  }

  #run(
    request: CallRequest,
    tool: Tool,
    args: ToolArguments,
    key: Buffer | null,
  ): McpAnswer | Promise<McpAnswer> {
    const read = tool.input.read(args);
    if (!read.ok) return this.#refuse(request, tool, read.sentence);
    const acting = this.#acting(request.principal, read.value['team']);
    if (typeof acting === 'string') return this.#refuse(request, tool, acting);
    const token = metaOf(request.content.params)['progressToken'];
    const tells = typeof token === 'string' || Number.isSafeInteger(token);
    if (tool.slow === true && tells && request.takesEvents) {
      return this.#events(request, tool, acting, read.value, token);
    }
    const call = this.#call(request, tool, acting, null, patienceMs);
    const askedAt = this.#options.position();
    const outcome = this.#held(request, () => tool.run(call, read.value));
    const finish = (settled: ToolOutcome): McpAnswer =>
      this.#finish({ request, tool, acting }, settled, key && { key, askedAt });
    return outcome instanceof Promise ? outcome.then(finish) : finish(outcome);
  }

  #events(
    request: CallRequest,
    tool: Tool,
    acting: McpPrincipal,
    args: ToolArguments,
    progressToken: unknown,
  ): McpAnswer {
    this.#admitOneMore(request.principal);
    return {
      kind: 'events',
      run: async (send) => {
        let progress = 0;
        const tell = (message: string): void => {
          send(
            notificationJson('notifications/progress', {
              progressToken,
              progress: ++progress,
              message,
            }),
          );
        };
        const call = this.#call(request, tool, acting, tell, patienceWithEventsMs);
        const outcome = await this.#held(request, () => tool.run(call, args));
        this.#note(request, tool, outcome.kind === 'failed' ? 'failed' : 'ok', acting);
        send(resultJson(request.id, outcomeJson(outcome, this.#tail)));
      },
    };
  }

  #call(
    { caller, content }: CallRequest,
    tool: Tool,
    principal: McpPrincipal,
    progress: ((message: string) => void) | null,
    patience: number,
  ): ToolCall {
    const { door, redaction } = this.#options;
    const { client } = content;
    return new GraphqlCall({
      door,
      redaction,
      principal,
      caller,
      agent: {
        address: caller.address,
        userAgent: caller.header('user-agent'),
        client: client && `${client.name} ${client.version}`.trim(),
        tool: tool.name,
      },
      progress,
      patienceMs: patience,
      draining: this.#draining.signal,
    });
  }

  /** Runs a tool and counts it as a call under way. An error that it throws becomes an outcome. */
  #held(
    { principal }: CallRequest,
    run: () => ToolOutcome | Promise<ToolOutcome>,
  ): ToolOutcome | Promise<ToolOutcome> {
    this.#admitOneMore(principal);
    let outcome: ToolOutcome | Promise<ToolOutcome>;
    try {
      outcome = run();
    } catch (error) {
      return this.#failure(error);
    }
    if (!(outcome instanceof Promise)) return outcome;
    const token = callerOf(principal);
    this.#underWay.add(token);
    return outcome
      .catch((error: unknown) => this.#failure(error))
      .finally(() => {
        this.#underWay.remove(token);
      });
  }

  #admitOneMore(principal: McpPrincipal): void {
    const { callsAtOnce } = this.#options;
    if (this.#underWay.count(callerOf(principal)) < callsAtOnce) return;
    throw new ServiceError('RATE_LIMITED', `This token has ${callsAtOnce} calls under way.`);
  }

  #failure(thrown: unknown): ToolOutcome {
    const error = asServiceError(thrown);
    if (error.code === 'INTERNAL') this.#options.logger.error({ err: thrown }, 'mcp_tool_failed');
    return { kind: 'failed', sentence: `${error.message} (${error.code})` };
  }

  #finish(
    { request, tool, acting }: { request: CallRequest; tool: Tool; acting: McpPrincipal },
    outcome: ToolOutcome,
    keep: { key: Buffer; askedAt: number } | null,
  ): McpAnswer {
    this.#note(request, tool, outcome.kind === 'failed' ? 'failed' : 'ok', acting);
    const result = this.#results.of(outcome);
    if (keep && outcome.kind === 'structured') {
      const now = this.#options.position();
      this.#reuse.keep(request.principal, keep.key, result, keep.askedAt, now);
    }
    return answerReady(request.id, new ReadyResult(result));
  }

  #refuse(request: CallRequest, tool: Tool, sentence: string): McpAnswer {
    this.#note(request, tool, 'refused', request.principal);
    const result = outcomeJson({ kind: 'failed', sentence }, this.#tail);
    return answerJson(resultJson(request.id, result));
  }

  #note({ content }: CallRequest, tool: Tool, outcome: CallOutcome, principal: McpPrincipal): void {
    const client = content.client?.name ?? null;
    this.#options.onCall?.({ principal, tool, client, outcome });
  }

  /** The caller in the named team, or a sentence that says why not. */
  #acting(principal: McpPrincipal, team: unknown): McpPrincipal | string {
    if (typeof team !== 'string' || team === '') return principal;
    const acting = this.#options.rights.actingIn(principal, team);
    return acting ?? `There is no team ${shownText(team, 100)} here; list_teams names yours.`;
  }

  /** Throws FORBIDDEN with the scopes that a wider token needs (RFC 6750, section 3.1). */
  #requireScope(request: CallRequest, tool: Tool): void {
    if (tool.needs === null) return;
    const given = this.#options.rights.givenTo(request.principal);
    if (given.includes(tool.needs)) return;
    this.#note(request, tool, 'refused', request.principal);
    const scope = [...given, tool.needs].join(' ');
    const metadata = this.#options.resourceMetadata();
    throw new ServiceError('FORBIDDEN', `The token lacks the capability ${tool.needs}.`, {
      extensions: { capability: tool.needs },
      headers: {
        'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}", resource_metadata="${metadata}"`,
      },
    });
  }
}
