import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeMetrics } from '../../../src/gateway/metrics-text.ts';
import { McpCounts } from '../../../src/mcp/counts.ts';

describe('McpCounts', () => {
  it('counts messages by method and calls by tool and outcome', () => {
    const counts = new McpCounts();
    counts.request('tools/call');
    counts.request('tools/call');
    counts.call('list_apps', 'ok');
    counts.call('list_apps', 'ok');
    counts.call('list_apps', 'refused');
    const text = encodeMetrics(counts.families());
    assert.match(text, /^gangway_mcp_requests_total\{method="tools\/call"\} 2$/m);
    assert.match(text, /^gangway_mcp_calls_total\{tool="list_apps",outcome="ok"\} 2$/m);
    assert.match(text, /^gangway_mcp_calls_total\{tool="list_apps",outcome="refused"\} 1$/m);
    assert.ok(!text.includes('failed') && !text.includes('other'));
  });
});
