/**
 * A process that follows a workload and writes down what it got, until it is killed: `<socket> <data
 * directory> <instance> <workload> <file> <acknowledge every>`.
 */
import fs from 'node:fs';

import { createDockerDriver } from '../../src/drivers/docker/docker-driver.ts';
import { noLog } from './runner.ts';

const [socket = '', dataDir = '', instance = '', id = '', file = '', every = '1'] =
  process.argv.slice(2);
const nothing = (): Promise<void> => Promise.resolve();
const edge = { open: nothing, setRoutes: nothing, setCertificates: nothing, close: nothing };
const driver = createDockerDriver({ socket, dataDir, instance, edge, logger: noLog });

/** As whoever stores entries does: on disk first, acknowledged then; resumed behind the last. */
const written = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
// What was written last may have been cut by the end of who wrote it.
const whole = written.slice(0, written.lastIndexOf('\n') + 1);
if (whole.length < written.length) fs.truncateSync(file, Buffer.byteLength(whole));
const last = whole.trimEnd().split('\n').at(-1);
let unacknowledged = 0;
await driver.follow(
  id,
  Number(last?.split(' ')[0] ?? 0),
  (entries) => {
    const lines = entries.map(
      ({ seq, bytes }) => `${String(seq)} ${Buffer.from(bytes).toString()}`,
    );
    fs.appendFileSync(file, lines.join(''));
    unacknowledged += entries.length;
    const newest = entries.at(-1)?.seq;
    if (unacknowledged < Number(every) || newest === undefined) return;
    unacknowledged = 0;
    driver.acknowledge(id, newest);
  },
  new AbortController().signal,
);
await driver.close();
