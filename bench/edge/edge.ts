/**
 * The runner and the edge, without a Gangway beside them, in front of one app. Arguments: the port of the app, a
 * folder of its own, and that of a certificate for `localhost`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../gangway.ts';
import { Connection } from '../../src/drivers/process/connection.ts';
import { localWay } from '../../src/drivers/process/local-way.ts';
import { createProcessDriver } from '../../src/drivers/process/process-driver.ts';
import type { ProcessDriverOptions } from '../../src/drivers/process/process-driver.ts';
import { lineLogger } from '../../src/lib/line-logger.ts';
import { runnerProtocol } from '../../src/protocol/runner-version.ts';

const [app = '', dataDir = '', certificateDir = ''] = process.argv.slice(2);
const [port, tlsPort] = [await freePort(), await freePort()];
const options: ProcessDriverOptions = {
  dataDir,
  edge: { host: '127.0.0.1', port, tlsPort },
  logger: { ...lineLogger('bench'), info: () => undefined },
  runnerKey: Buffer.alloc(32),
  without: [],
};
const driver = createProcessDriver(options);
const [chain, key] = ['cert.pem', 'key.pem'].map((name) =>
  readFileSync(join(certificateDir, name), 'utf8'),
);
const targets = [{ host: '127.0.0.1', port: Number(app) }];
await driver.open();
await driver.setRoutes(['127.0.0.1', 'localhost'].map((host) => ({ host, targets })));
await driver.setCertificates([{ names: ['localhost'], chain: chain ?? '', key: key ?? '' }]);
const runner = await runnerPid();
// A driver that nobody asks keeps no program running.
setInterval(() => undefined, 60_000);
process.on('SIGTERM', () => void driver.close().then(() => process.exit(0)));
console.log(JSON.stringify({ port, tlsPort, pid: edgeOf(runner), besides: [runner] }));

async function runnerPid(): Promise<number> {
  const nothing = (): void => undefined;
  const connection = await Connection.open(localWay(options), { state: nothing, lost: nothing });
  const { pid } = await connection.request({ op: 'hello', protocol: runnerProtocol });
  connection.close();
  return pid;
}

function edgeOf(parent: number): number {
  const edge = readdirSync('/proc').find((pid) => /^\d+$/.test(pid) && isEdge(pid, parent));
  if (edge === undefined) throw new Error('The runner has no edge.');
  return Number(edge);
}

function isEdge(pid: string, parent: number): boolean {
  try {
    const [status, command] = ['status', 'cmdline'].map((file) =>
      readFileSync(`/proc/${pid}/${file}`, 'latin1'),
    );
    return status?.includes(`\nPPid:\t${parent}\n`) === true && /\bedge\b/.test(command ?? '');
  } catch {
    return false; // It ended meanwhile.
  }
}
