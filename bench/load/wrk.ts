/** Owns closed-loop load from `wrk`: its script, and what it reports. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Server } from '../gangway.ts';
import type { Bench } from '../harness.ts';
import type { HttpLoad, RawResult } from './http-load.ts';

export async function wrk(bench: Bench, server: Server, load: HttpLoad): Promise<RawResult> {
  const script = join(bench.tempDir(), 'load.lua');
  writeFileSync(script, wrkScript(load));
  const said = await bench.run('wrk', [
    '-t1',
    `-c${load.connections}`,
    `-d${load.seconds}s`,
    // Its own 2 s are over before some answers where thousands ask at once.
    '--timeout',
    '20s',
    '-s',
    script,
    server.url + load.path,
  ]);
  return JSON.parse(said.trimEnd().split('\n').at(-1) ?? '') as RawResult;
}

export function wrkScript(load: HttpLoad): string {
  const headers = Object.entries(load.headers ?? {}).map(
    ([name, value]) => `wrk.headers[${lua(name)}] = ${lua(value)}`,
  );
  return `wrk.method = ${lua(load.method ?? 'GET')}
${headers.join('\n')}
${load.body === undefined ? '' : `wrk.body = ${lua(load.body)}`}
${load.bodies === undefined ? '' : inTurn(load.bodies)}
done = function(summary, latency)
  local e = summary.errors
  local function ms(p) return latency:percentile(p) / 1000 end
  io.write(string.format('{"requests":%d,"seconds":%f,"bytes":%d,"errors":%d,',
    summary.requests, summary.duration / 1e6, summary.bytes,
    e.connect + e.read + e.write + e.status + e.timeout))
  io.write(string.format('"latency":{"p50":%f,"p90":%f,"p99":%f,"p999":%f,"max":%f}}\\n',
    ms(50), ms(90), ms(99), ms(99.9), latency.max / 1000))
end
`;
}

/** Requests are made before the load starts: making one takes longer than to send it. */
function inTurn(bodies: readonly string[]): string {
  return `local requests, sent = {}, 0
init = function()
  for i, body in ipairs({${bodies.map(lua).join(',\n')}}) do
    requests[i] = wrk.format(nil, nil, nil, body)
  end
end
request = function()
  sent = sent + 1
  return requests[(sent - 1) % #requests + 1]
end`;
}

function lua(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\r', '\\r')}"`;
}
