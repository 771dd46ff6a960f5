import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeMetrics } from '../../../src/gateway/metrics-text.ts';
import { Metrics } from '../../../src/gateway/metrics.ts';

describe('encodeMetrics()', () => {
  it('escapes help and labels', () => {
    const text = encodeMetrics([
      {
        name: 'a_total',
        help: 'Back\\slash\nand line',
        type: 'counter',
        samples: [{ labels: { x: 'q"\\\n' }, value: 1.5 }, { value: Infinity }],
      },
    ]);
    assert.equal(
      text,
      '# HELP a_total Back\\\\slash\\nand line\n# TYPE a_total counter\n' +
        'a_total{x="q\\"\\\\\\n"} 1.5\na_total +Inf\n',
    );
  });
});

describe('Metrics', () => {
  it('counts by route, method and class, and shares one row among unknown methods', async () => {
    const metrics = new Metrics();
    const counts = metrics.route('/a/:id', 'GET');
    counts.count(200, false, 10, 3);
    counts.count(200, false, 10, 700);
    counts.count(404, false, 1, null);
    counts.count(200, true, 0, null);
    assert.equal(metrics.route('', 'X-A'), metrics.route('', 'X-B'));
    metrics.register(() => [{ name: 'x', help: 'X.', type: 'gauge', samples: [{ value: 7 }] }]);
    const text = await metrics.text();
    for (const line of [
      'gangway_http_requests_total{route="/a/:id",method="GET",status="2xx"} 2',
      'gangway_http_requests_total{route="/a/:id",method="GET",status="4xx"} 1',
      'gangway_http_requests_total{route="/a/:id",method="GET",status="aborted"} 1',
      'gangway_http_request_duration_seconds_bucket{route="/a/:id",method="GET",le="0.005"} 1',
      'gangway_http_request_duration_seconds_bucket{route="/a/:id",method="GET",le="1"} 2',
      'gangway_http_request_duration_seconds_bucket{route="/a/:id",method="GET",le="+Inf"} 2',
      'gangway_http_request_duration_seconds_count{route="/a/:id",method="GET"} 2',
      'x 7',
    ]) {
      assert.ok(text.includes(`${line}\n`), line);
    }
    assert.match(text, /^process_resident_memory_bytes \d/m);
    assert.match(text, /^nodejs_eventloop_lag_seconds \d/m);
  });

  it('adds up what threads counted under the same name and labels', async () => {
    const [here, there] = [new Metrics(), new Metrics()];
    here.registerRemote(() => Promise.resolve(there.families()));
    here.route('/a', 'GET').count(200, false, 10, 3);
    there.route('/a', 'GET').count(200, false, 5, 700);
    there.route('/b', 'GET').count(404, false, 1, null);
    there.refused('NOT_FOUND');
    const text = await here.text();
    for (const line of [
      'gangway_http_requests_total{route="/a",method="GET",status="2xx"} 2',
      'gangway_http_requests_total{route="/b",method="GET",status="4xx"} 1',
      'gangway_http_response_bytes_total{route="/a",method="GET"} 15',
      'gangway_http_request_duration_seconds_bucket{route="/a",method="GET",le="0.005"} 1',
      'gangway_http_request_duration_seconds_bucket{route="/a",method="GET",le="+Inf"} 2',
      'gangway_http_request_duration_seconds_count{route="/a",method="GET"} 2',
      'gangway_problems_total{code="NOT_FOUND"} 1',
    ]) {
      assert.equal(text.split('\n').filter((one) => one === line).length, 1, line);
    }
    assert.equal(text.match(/# TYPE gangway_http_requests_total counter/g)?.length, 1);
  });
});
