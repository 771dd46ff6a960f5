/** Owns the numbers of the MCP server for the metrics: messages by method, calls by tool and outcome. */

/** `refused`: before the tool ran, for example for a scope, a limit or arguments that do not fit. */
export type CallOutcome = 'ok' | 'failed' | 'refused';

/** A counter as the metrics take it. */
export interface CounterFamily {
  name: string;
  help: string;
  type: 'counter';
  samples: { labels: Record<string, string>; value: number }[];
}

export class McpCounts {
  readonly #requests = new Map<string, number>();
  readonly #calls: Record<CallOutcome, Map<string, number>> = {
    ok: new Map(),
    failed: new Map(),
    refused: new Map(),
  };

  /** Counts a message; its method is a known one, or `other`. */
  request(method: string): void {
    countIn(this.#requests, method);
  }

  /** Counts a call of a known tool when it ends. */
  call(tool: string, outcome: CallOutcome): void {
    countIn(this.#calls[outcome], tool);
  }

  families(): CounterFamily[] {
    return [
      {
        name: 'gangway_mcp_requests_total',
        help: 'Messages over MCP, by method.',
        type: 'counter',
        samples: [...this.#requests].map(([method, value]) => ({ labels: { method }, value })),
      },
      {
        name: 'gangway_mcp_calls_total',
        help: 'Calls of tools over MCP, by tool and outcome.',
        type: 'counter',
        samples: Object.entries(this.#calls).flatMap(([outcome, tools]) =>
          [...tools].map(([tool, value]) => ({ labels: { tool, outcome }, value })),
        ),
      },
    ];
  }
}

function countIn(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
