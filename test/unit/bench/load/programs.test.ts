import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ohaArgs, ohaResult } from '../../../../bench/load/oha.ts';
import { wrkScript } from '../../../../bench/load/wrk.ts';

const load = { path: '/', connections: 50, seconds: 2 };

/** As oha prints with `--output-format json`. */
const report = {
  summary: { total: 2.001, slowest: 0.02, totalData: 1_100 },
  latencyPercentiles: { p50: 0.001, p90: 0.002, p99: 0.003, 'p99.9': 0.004 },
  statusCodeDistribution: { '200': 100 },
  errorDistribution: { 'aborted due to deadline': 50 },
};

describe('load from oha', () => {
  it('is asked for JSON, for so long, on so many connections', () => {
    const args = ohaArgs('http://127.0.0.1:1/x', {
      ...load,
      method: 'POST',
      headers: { accept: 'text/html' },
      body: '{}',
    }).join(' ');
    assert.match(
      args,
      /--output-format json -c 50 -z 2s -m POST -H accept: text\/html -d \{\} http:/,
    );
  });

  it('is read in the units of ours, without what the end of the time cut off', () => {
    const result = ohaResult(JSON.stringify(report), { ...load, headBytes: 9 });
    assert.deepEqual(result, {
      requests: 100,
      seconds: 2.001,
      bytes: 2_000,
      errors: 0,
      latency: { p50: 1, p90: 2, p99: 3, p999: 4, max: 20 },
    });
  });

  it('counts refusals and lost connections as errors', () => {
    const bad = {
      ...report,
      statusCodeDistribution: { '200': 90, '503': 10 },
      errorDistribution: { 'connection closed': 3 },
    };
    assert.equal(ohaResult(JSON.stringify(bad), load).errors, 13);
  });
});

describe('the script of wrk', () => {
  it('holds texts that Lua reads as they are', () => {
    const script = wrkScript({ ...load, method: 'POST', body: 'a "b" \\ \r\n c' });
    assert.match(script, /wrk\.body = "a \\"b\\" \\\\ \\r\\n c"/);
  });

  it('sends bodies in turn where there are many', () => {
    assert.match(wrkScript({ ...load, bodies: ['one', 'two'] }), /ipairs\(\{"one",\s+"two"\}\)/);
  });
});
