import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeMetrics } from '../../../src/gateway/metrics-text.ts';
import { McpCounts } from '../../../src/mcp/counts.ts';

describe('McpCounts', () => {
  it('counts messages by method and calls by tool and outcome', () => {
    const counts = new McpCounts({ methods: ['tools/call', 'ping'], tools: ['list_apps', 'x'] });
    counts.request('tools/call');
    counts.request('tools/call');
    counts.call('list_apps', 'ok');
    counts.call('list_apps', 'ok');
    counts.call('list_apps', 'refused');
    const text = encodeMetrics(counts.families());
    assert.match(text, /^gangway_mcp_requests_total\{method="tools\/call"\} 2$/m);
    assert.match(text, /^gangway_mcp_calls_total\{tool="list_apps",outcome="ok"\} 2$/m);
    assert.match(text, /^gangway_mcp_calls_total\{tool="list_apps",outcome="refused"\} 1$/m);
    assert.ok(!text.includes('ping') && !text.includes('"x"') && !text.includes('other'));
  });

  it('has no label but those it was made for', () => {
    const counts = new McpCounts({ methods: ['ping'], tools: ['list_apps'] });
    for (let i = 0; i < 100; i++) {
      counts.request(`made/up/${i}`);
      counts.call(`made_up_${i}`, 'failed');
    }
    counts.request(null);
    counts.request('constructor');
    counts.call('__proto__', 'ok');
    const [requests, calls] = counts.families();
    assert.deepEqual(requests?.samples, [{ labels: { method: 'other' }, value: 102 }]);
    assert.deepEqual(calls?.samples, [
      { labels: { tool: 'other', outcome: 'ok' }, value: 1 },
      { labels: { tool: 'other', outcome: 'failed' }, value: 100 },
    ]);
  });
});
