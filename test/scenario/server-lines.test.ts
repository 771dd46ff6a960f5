/**
 * Two other servers whose lines are slow, thin, cut and pulled while much goes over them: nothing is lost, nothing hangs,
 * and memory stays bounded.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'node:test';

import { AgentProcess } from '../support/agent-process.ts';
import {
  beginBackup,
  beginRestore,
  endedRestore,
  endedRun,
  makeDestination,
  type Run,
} from '../support/backups-over-graphql.ts';
import { cleanups } from '../support/cleanups.ts';
import { ConsoleClient } from '../support/console-client.ts';
import { type AppInfo, archiveOf } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { LogTail } from '../support/log-tail.ts';
import { freePort } from '../support/ports.ts';
import { runnerOf, signal } from '../support/processes.ts';
import { tempDir } from '../support/runner.ts';
import {
  agentsHost,
  haveNamespaces,
  type ServerLine,
  serverLine,
} from '../support/server-lines.ts';
import type { SlowLine } from '../support/slow-line.ts';

interface Server extends ServerLine {
  id: string;
  agent: AgentProcess;
}

const mebibyte = 1024 * 1024;
/** A round trip of 200 ms, and 1 Mbit/s. */
const bad = { delayMs: 100, bytesPerS: 125_000 };
/** `thin`: few and short lines for many viewers. `thick`: more than a bad line takes, for some. */
const logs = {
  thin: { everyMs: 50, fill: 0, tails: 90 },
  thick: { everyMs: 10, fill: 1_700, tails: 10 },
} as const;
/** What may come on top of what a process has at rest. */
const boundBytes = 150 * mebibyte;
const patienceMs = 60_000;

/** Counts aloud, and says what came with it. */
function counting({ everyMs, fill }: { everyMs: number; fill: number }): Record<string, string> {
  const server = `const fill = ' ' + 'x'.repeat(${String(fill)});
    let n = 0;
    setInterval(() => console.log('n ' + (n += 1) + fill), ${String(everyMs)});
    require('node:http').createServer((_, answer) => answer.end()).listen(process.env.PORT);`;
  return { Procfile: 'web: node server.js', 'server.js': server };
}

function heavy(blob: string): Record<string, string> {
  const server = `const blob = require('node:fs').readFileSync('blob');
    console.log('blob ' + require('node:crypto').createHash('sha256').update(blob).digest('hex'));
    require('node:http').createServer((_, answer) => answer.end()).listen(process.env.PORT);`;
  return { Procfile: 'web: node server.js', 'server.js': server, blob };
}

function residentOf(pid: number): number {
  const status = fs.readFileSync(`/proc/${String(pid)}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

/** In order; a line that came twice, or not at all, is seen. */
const numbersOf = ({ log }: LogTail): number[] =>
  [...log.matchAll(/^n (\d+)\b/gm)].map(([, n]) => Number(n));
const lastOf = ({ log }: LogTail): number =>
  Number(/^n (\d+)\b/.exec(log.slice(log.lastIndexOf('\nn ') + 1))?.[1] ?? 0);

describe(`two servers with ${haveNamespaces ? 'network namespaces' : 'loopback addresses'} of their own`, () => {
  const later = cleanups();
  const folder = tempDir();
  let gangway: Gangway;
  let first: Server;
  let second: Server;
  /** Of the panel, by the line of that address. */
  let panelAt: (host: string) => string;

  before(async () => {
    later(() => fs.rmSync(folder, { recursive: true, force: true }));
    fs.chmodSync(folder, 0o711);
    const [panelPort, agentPort] = [await freePort(), await freePort()];
    panelAt = (host) => `http://${host}:${String(panelPort)}`;
    const lines: ServerLine[] = [];
    for (const index of [0, 1]) {
      const one = await serverLine({ index, panelPort, agentPort });
      later(() => one.close());
      lines.push(one);
    }
    const env = {
      GANGWAY_PORT: String(panelPort),
      GANGWAY_AGENT_PORT: String(agentPort),
      GANGWAY_AGENT_HOST: agentsHost,
      GANGWAY_PUBLIC_URL: panelAt(lines[0]?.host ?? ''),
    };
    gangway = await Gangway.open({ env });
    later(() => gangway.end());
    [first, second] = (await Promise.all(
      lines.map((line, index) => added(line, index, lines[0]?.host ?? '')),
    )) as [Server, Server];
  });

  async function added(line: ServerLine, index: number, toldHost: string): Promise<Server> {
    const query = `mutation { addServer(name: "server ${String(index)}") { server { id } bootstrapToken } }`;
    const { addServer } = await gangway.client.must<{
      addServer: { server: { id: string }; bootstrapToken: string };
    }>(query);
    const dataDir = path.join(folder, String(index));
    const agent = new AgentProcess({
      ...{ dataDir, within: line.within, args: ['--token-file', '-'] },
      input: `${addServer.bootstrapToken}\n`,
    });
    later(async () => {
      await agent.end('SIGTERM');
      const runner = runnerOf(dataDir);
      if (runner !== undefined) signal(runner.pid, 'SIGTERM');
      await until('its runner is gone', 30_000, () => runnerOf(dataDir) === undefined);
    });
    await agent.start(['--control', panelAt(toldHost)]);
    const server = { ...line, id: addServer.server.id, agent };
    await until('it is connected', patienceMs, () => isConnected(server));
    if (index === 0) return server;
    // It was told the address of the first line.
    await agent.end('SIGTERM');
    await agent.start(['--control', panelAt(line.host)]);
    await until('it is connected by its own line', patienceMs, () => {
      return line.line.open === 2 && isConnected(server);
    });
    return server;
  }

  async function isConnected({ id }: { id: string }): Promise<boolean> {
    const query = '{ servers { id connected } }';
    type Answer = { servers: { id: string; connected: boolean }[] };
    const { servers } = await gangway.client.must<Answer>(query);
    return servers.some((one) => one.id === id && one.connected);
  }

  const tail = ({ id }: AppInfo): Promise<LogTail> => {
    const one = new LogTail(`${gangway.url}/api/apps/${id}/logs`, {
      cookie: gangway.client.cookie,
    });
    later(() => one.close());
    return one.opened();
  };

  const exec = async ({ id }: AppInfo, command: string): Promise<string> => {
    const query =
      'mutation($id: ID!, $command: String!) { execConsole(appId: $id, command: $command) { output } }';
    type Answer = { execConsole: { output: string } };
    return (await gangway.client.must<Answer>(query, { id, command })).execConsole.output;
  };

  it('lose nothing, hang nowhere, and keep little, whatever becomes of their lines', async (t) => {
    const { client } = gangway;
    const [thin, thick, keeper, bulky] = await Promise.all([
      client.runningApp('Thin', archiveOf(counting(logs.thin)), { serverId: first.id }),
      client.runningApp('Thick', archiveOf(counting(logs.thick)), { serverId: second.id }),
      client.runningApp('Keeper', archiveOf(counting(logs.thin)), { serverId: first.id }),
      client.createApp('Bulky', { serverId: first.id }),
    ]);
    const viewers = (app: AppInfo, count: number): Promise<LogTail[]> =>
      Promise.all(Array.from({ length: count }, () => tail(app)));
    const thinTails = await viewers(thin, logs.thin.tails);
    const thickTails = await viewers(thick, logs.thick.tails);
    const tails = [...thinTails, ...thickTails];
    const all = (what: string, app: LogTail[], least: number): Promise<void> =>
      until(what, patienceMs, () => app.every((one) => lastOf(one) >= least));
    const flows = async (when: string): Promise<void> => {
      const newest = [thinTails, thickTails].map(([one]) => lastOf(one!));
      await all(`thin lines ${when}`, thinTails, (newest[0] ?? 0) + 20);
      await all(`thick lines ${when}`, thickTails, (newest[1] ?? 0) + 50);
    };
    await flows('at first');
    const console = await ConsoleClient.open(client, `/api/apps/${thin.id}/attach`);
    const types = async (word: string): Promise<void> => {
      await console.type(`echo ${word}-$((6 * 7))\r`);
      await console.sees(`${word}-42`);
    };
    await types('near');

    const pids = [gangway.pid, first.agent.pid ?? 0, second.agent.pid ?? 0];
    const rested = pids.map(residentOf);
    const peaks = [...rested];
    const looking = setInterval(() => {
      pids.forEach((pid, i) => (peaks[i] = Math.max(peaks[i] ?? 0, residentOf(pid))));
    }, 200);
    t.after(() => clearInterval(looking));
    const both = (change: (line: SlowLine) => void): void =>
      [first, second].forEach(({ line }) => change(line));
    const carriedBefore = [first, second].map(({ line }) => line.carried.there);
    const loggedBefore = [thinTails, thickTails].map(([one]) => one?.log.length ?? 0);

    const destinationId = await makeDestination(client, 'Disk');
    const backup = async (): Promise<Run> => {
      const { id } = await beginBackup(client, { appId: keeper.id, destinationId });
      return await endedRun(client, id);
    };
    const hashOfKept = (): Promise<string> => exec(keeper, 'sha256sum < "$APP_DATA_DIR/kept"');
    await exec(keeper, 'head -c 400000 /dev/urandom > "$APP_DATA_DIR/kept"');
    const kept = await hashOfKept();

    both((line) => line.becomes(bad));
    const backingUp = backup();
    const blob = randomBytes(150_000).toString('hex');
    await client.mustUpload(bulky.id, archiveOf(heavy(blob)));
    const deploying = client.deployed(bulky.id);
    await types('far');
    await deploying;
    // Over the cut.
    const command = exec(thick, 'sleep 3; echo done');
    const hash = createHash('sha256').update(blob).digest('hex');
    const bulkyTail = await tail(bulky);
    await until('it got all of it', patienceMs, () => bulkyTail.log.includes(`blob ${hash}`));
    const run = await backingUp;
    assert.deepEqual([run.status, run.error], ['success', null]);
    const cutOff = backup();

    both((line) => line.cut());
    await types('cut');
    assert.equal(await command, 'done\n');

    both((line) => line.pull());
    await until('they are away', patienceMs, async () => {
      return !(await isConnected(first)) && !(await isConnected(second));
    });
    const askedAtMs = performance.now();
    const query = 'mutation($id: ID!) { execConsole(appId: $id, command: "true") { output } }';
    assert.equal(await client.fails(query, { id: thin.id }), 'AGENT_UNREACHABLE');
    assert.ok(performance.now() - askedAtMs < 2_500);
    both((line) => line.plug());
    await types('plugged');

    both((line) => line.becomes({}));
    await flows('at last');
    const { status, error } = await cutOff;
    if (status !== 'success') assert.match(error ?? '', /AGENT_UNREACHABLE/);
    await exec(keeper, 'echo spoiled > "$APP_DATA_DIR/kept"');
    const restore = await endedRestore(client, (await beginRestore(client, run.id)).id);
    assert.deepEqual([restore.status, restore.error], ['success', null]);
    assert.equal(await hashOfKept(), kept);
    // What was written until now is there, and nothing in between is missing.
    for (const one of tails) {
      const numbers = numbersOf(one);
      const [began = 0] = numbers;
      assert.deepEqual(
        numbers,
        numbers.map((_, at) => began + at),
      );
      assert.equal(one.ended, false);
    }
    const told = pids.map((_, i) => `${mib(rested[i])} -> ${mib(peaks[i])}`).join(', ');
    t.diagnostic(`MiB of Gangway and its agents: ${told}`);
    pids.forEach((_, i) => assert.ok((peaks[i] ?? 0) - (rested[i] ?? 0) < boundBytes, told));
    const shares = [first, second].map(({ line }, i) => {
      const carried = line.carried.there - (carriedBefore[i] ?? 0);
      const [one] = [thinTails, thickTails][i] ?? [];
      return carried / ((one?.log.length ?? 0) - (loggedBefore[i] ?? 0));
    });
    t.diagnostic(
      `bytes on the lines, of those of the logs: ${shares.map((one) => one.toFixed(1)).join(', ')}`,
    );
    // Ten viewers, and what was on its way when the line was cut.
    assert.ok((shares[1] ?? 0) < 3, String(shares[1]));
    await console.type('exit\r');
    await console.ends('exit');
  });
});

const mib = (bytes = 0): string => (bytes / mebibyte).toFixed(0);
