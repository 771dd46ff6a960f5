/**
 * Owns the numbers of the MCP server for the metrics: messages by method, calls by tool and outcome.
 *
 * 1. Labels are bounded: methods and tools that were named at the start; every other is `other`.
 * 2. Counting is a look-up and an addition; families are made when somebody asks.
 */

export interface McpCountsOptions {
  methods: Iterable<string>;
  tools: Iterable<string>;
}

/** `refused`: before the tool was run, such as for a scope, a bound or arguments that do not fit. */
export type CallOutcome = 'ok' | 'failed' | 'refused';

/** A counter as the metrics take it. */
export interface CounterFamily {
  name: string;
  help: string;
  type: 'counter';
  samples: { labels: Record<string, string>; value: number }[];
}

type ByOutcome = Record<CallOutcome, number>;

const outcomes: readonly CallOutcome[] = ['ok', 'failed', 'refused'];
const other = 'other';

export class McpCounts {
  readonly #requests = new Map<string, number>([[other, 0]]);
  readonly #calls = new Map<string, ByOutcome>();
  readonly #otherCalls: ByOutcome = { ok: 0, failed: 0, refused: 0 };

  constructor({ methods, tools }: McpCountsOptions) {
    for (const method of methods) this.#requests.set(method, 0);
    for (const tool of tools) this.#calls.set(tool, { ok: 0, failed: 0, refused: 0 });
  }

  /** A message came; null where its method could not be read. */
  request(method: string | null): void {
    const name = method !== null && this.#requests.has(method) ? method : other;
    this.#requests.set(name, (this.#requests.get(name) ?? 0) + 1);
  }

  /** A call of a tool ended. */
  call(tool: string, outcome: CallOutcome): void {
    const counts = this.#calls.get(tool) ?? this.#otherCalls;
    counts[outcome] += 1;
  }

  families(): CounterFamily[] {
    const calls = [...this.#calls, [other, this.#otherCalls] as const];
    return [
      {
        name: 'gangway_mcp_requests_total',
        help: 'Messages over MCP, by method.',
        type: 'counter',
        samples: [...this.#requests]
          .filter(([, value]) => value > 0)
          .map(([method, value]) => ({ labels: { method }, value })),
      },
      {
        name: 'gangway_mcp_calls_total',
        help: 'Calls of tools over MCP, by tool and outcome.',
        type: 'counter',
        samples: calls.flatMap(([tool, counts]) =>
          outcomes
            .filter((outcome) => counts[outcome] > 0)
            .map((outcome) => ({ labels: { tool, outcome }, value: counts[outcome] })),
        ),
      },
    ];
  }
}
