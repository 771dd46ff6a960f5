/**
 * Owns the numbers of the MCP server for the metrics: messages by method, calls by tool and outcome.
 *
 * 1. Labels are bounded: the first `namesMax` methods, and tools, that come; every other is `other`.
 * 2. Counting is a look-up and an addition; families are made when somebody asks.
 */

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
const namesMax = 100;

export class McpCounts {
  readonly #requests = new Map<string, { total: number }>();
  readonly #calls = new Map<string, ByOutcome>();

  /** A message came, with a method that there is. */
  request(method: string): void {
    const counts = this.#requests.get(method) ?? named(this.#requests, method, { total: 0 });
    counts.total += 1;
  }

  /** A call of a tool ended. */
  call(tool: string, outcome: CallOutcome): void {
    const counts =
      this.#calls.get(tool) ?? named(this.#calls, tool, { ok: 0, failed: 0, refused: 0 });
    counts[outcome] += 1;
  }

  families(): CounterFamily[] {
    return [
      {
        name: 'gangway_mcp_requests_total',
        help: 'Messages over MCP, by method.',
        type: 'counter',
        samples: [...this.#requests].map(([method, { total }]) => ({
          labels: { method },
          value: total,
        })),
      },
      {
        name: 'gangway_mcp_calls_total',
        help: 'Calls of tools over MCP, by tool and outcome.',
        type: 'counter',
        samples: [...this.#calls].flatMap(([tool, counts]) =>
          outcomes
            .filter((outcome) => counts[outcome] > 0)
            .map((outcome) => ({ labels: { tool, outcome }, value: counts[outcome] })),
        ),
      },
    ];
  }
}

/** A new row, or that of all names too many. */
function named<Counts>(rows: Map<string, Counts>, name: string, fresh: Counts): Counts {
  const key = rows.size < namesMax ? name : other;
  const counts = rows.get(key) ?? fresh;
  rows.set(key, counts);
  return counts;
}
