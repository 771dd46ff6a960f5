/** The scripts that a new server runs, against a panel of the test's own: what they do there, and in which order. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';

import { isFinal, mustFollow } from '../../src/actors/server/takeover.ts';
import { bootstrapTokenHash } from '../../src/protocol/bootstrap-token.ts';
import { agentScripts } from '../../src/service/agent-scripts.ts';
import type { TakeoverState } from '../../src/store/records/records.ts';
import { eventually } from '../support/eventually.ts';
import { processesOf } from '../support/processes.ts';
import { needs } from '../support/programs.ts';

const token = `gwb_${'a'.repeat(40)}.${'b'.repeat(43)}`;
/** In place of the agent: tells what it was given, has its certificate, and ends. */
const goodProgram = `import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
const of = (name) => process.argv[process.argv.indexOf(name) + 1];
const told = { control: of('--control'), token: readFileSync(of('--token-file'), 'utf8') };
const file = of('--data-dir') + '/told.json';
writeFileSync(file + '.new', JSON.stringify(told));
renameSync(file + '.new', file);
mkdirSync(of('--data-dir') + '/agent', { recursive: true });
const identity = { tokenHash: '${bootstrapTokenHash(token)}' };
writeFileSync(of('--data-dir') + '/agent/identity.json', JSON.stringify(identity));
`;

describe('the scripts for a new server', { skip: needs('curl') }, () => {
  const scripts = agentScripts();
  let dir: string;
  let url: string;
  let state: TakeoverState;
  let isOver: boolean;
  /** What was asked of the panel, in order. */
  let seen: string[];
  let installer: string;
  let program: string;
  /** The report that is refused, once. */
  let refused: string | null;
  const server = createServer((request, response) => void serve(request, response));

  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  });
  after(() => server.close());
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'gangway-agent-scripts-'));
    [state, isOver, seen] = ['waiting', false, []];
    [program, refused] = [goodProgram, null];
    installer = Buffer.from(scripts['install.sh']).toString();
  });

  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    if (request.url === '/api/agent/install.sh') return void response.end(installer);
    if (request.url === '/api/agent/program') {
      seen.push('program');
      return void response.end(program);
    }
    if (request.headers.authorization !== `Bearer ${token}` || isOver) {
      response.statusCode = 401;
      return void response.end('{"detail":"This bootstrap token is not valid."}');
    }
    if (request.method === 'POST') {
      const { state: next, reason } = JSON.parse(body) as { state: TakeoverState; reason: string };
      if (next === refused) {
        refused = null;
        response.statusCode = 403;
        return void response.end('{}');
      }
      mustFollow(state, next);
      state = next;
      seen.push(`${next}: ${reason}`);
    } else {
      seen.push(`read ${state}`);
      isOver = isFinal(state);
    }
    response.end(JSON.stringify({ state, serverId: 'srv_1', updatedAt: '' }));
  }

  function run(name: keyof typeof scripts, args: readonly string[], input = token) {
    // The same node as here, whatever the machine has.
    const env = {
      ...process.env,
      PATH: `${dir}:${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
    };
    const script = Buffer.from(scripts[name]).toString();
    const given = ['-c', script, name, '--control', url, '--no-service', ...args];
    const child = spawn('sh', given, { env, stdio: ['pipe', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    // One that refuses its options ends before it reads.
    child.stdin.on('error', () => undefined).end(input);
    return new Promise<{ code: number | null; output: string }>((resolve) => {
      child.once('exit', (code) => resolve({ code, output }));
    });
  }
  const agentDir = () => join(dir, 'agent');
  const told = () => JSON.parse(readFileSync(join(agentDir(), 'told.json'), 'utf8')) as object;
  const agentTold = () =>
    eventually('the agent starts', () => existsSync(join(agentDir(), 'told.json')));

  it('install the agent, whose token nobody but its user can read', async () => {
    const { code, output } = await run('install.sh', ['--data-dir', agentDir()]);
    assert.equal(code, 0, output);
    await agentTold();
    assert.deepEqual(told(), { control: url, token: `${token}\n` });
    for (const name of ['bootstrap-token', 'agent.mjs']) {
      assert.equal(statSync(join(agentDir(), name)).mode & 0o077, 0, name);
    }
    assert.equal(statSync(agentDir()).mode & 0o077, 0);
  });

  it('fail with what the log says when the agent ends without a certificate, and remove nothing', async () => {
    const sentence = 'This bootstrap token is not valid.';
    program = `console.error('${sentence}'); process.exitCode = 3;`;
    const args = ['--data-dir', agentDir()];
    const { code, output } = await run('install.sh', args);
    assert.equal(code, 1, output);
    assert.match(output, new RegExp(`${sentence}\ngangway-agent: the agent ended without a cert`));
    const removal = ['--remove-with', `echo gone > ${dir}/removal`];
    assert.equal((await run('takeover.sh', [...args, ...removal])).code, 1);
    assert.deepEqual(seen.slice(-2), ['failed: The agent could not be installed', 'read failed']);
    assert.ok(!existsSync(`${dir}/removal`));
  });

  it('fail when the agent has no certificate after a minute, and leave none that tries', async () => {
    // A minute is over soon, once the agent is there.
    const begun = join(dir, 'begun');
    const sleep = `#!/bin/sh\nuntil [ -e ${begun} ]; do /bin/sleep 0.05; done\n`;
    writeFileSync(join(dir, 'sleep'), sleep, { mode: 0o755 });
    program = `import { writeFileSync } from 'node:fs';
      setInterval(() => undefined, 1000);
      writeFileSync('${begun}', '');`;
    const { code, output } = await run('install.sh', ['--data-dir', agentDir()]);
    assert.equal(code, 1, output);
    assert.match(output, /the agent has no certificate after 60 seconds/);
    await eventually('it is gone', () => processesOf(dir).length === 0);
  });

  it('succeed again with the token that the agent came by', async () => {
    for (const time of [1, 2]) {
      const { code, output } = await run('install.sh', ['--data-dir', agentDir()]);
      assert.equal(code, 0, `${String(time)}: ${output}`);
    }
  });

  it('refuse what cannot be right, before anything is fetched', async () => {
    const refuses = async (args: readonly string[], words: RegExp, input?: string) => {
      const { code, output } = await run('install.sh', args, input);
      assert.equal(code, 1, output);
      assert.match(output, words);
    };
    await refuses(['--data-dir', 'here'], /has to be an absolute path/);
    await refuses(['--data-dir', `${dir}/a b`], /has to be an absolute path/);
    await refuses(['--control', 'panel'], /has to be the address of the panel/);
    await refuses(['--data-dir', agentDir()], /holds no bootstrap token/, 'gwy_1');
    await refuses(['--colour', 'red'], /there is no option --colour/);
    const takeover = await run('takeover.sh', [], 'gwy_1');
    assert.match(takeover.output, /holds no bootstrap token/);
    assert.deepEqual([takeover.code, seen], [2, []]);
  });

  it('take a machine over, and leave the other platform as it is', async () => {
    const { code, output } = await run('takeover.sh', ['--data-dir', agentDir()]);
    assert.equal(code, 0, output);
    assert.deepEqual(seen, [
      ...['read waiting', 'program', 'done: The agent is installed and nothing was removed'],
      'read done',
    ]);
    await agentTold();
    const again = await run('takeover.sh', []);
    assert.equal(again.code, 1);
    assert.match(again.output, /the panel refuses: .*This bootstrap token is not valid/);
  });

  it('remove the other platform by the command that says how', async () => {
    const removal = `echo gone > ${dir}/removal`;
    const args = ['--data-dir', agentDir(), '--remove-with', removal];
    const { code, output } = await run('takeover.sh', args);
    assert.equal(code, 0, output);
    assert.equal(readFileSync(`${dir}/removal`, 'utf8'), 'gone\n');
    assert.deepEqual(seen.slice(2), [
      ...['removing: The agent is installed', 'removed: The other platform is removed'],
      'read removed',
    ]);
    await agentTold();
  });

  it('say that a removal failed', async () => {
    const args = ['--data-dir', agentDir(), '--remove-with', 'exit 3'];
    const { code } = await run('takeover.sh', args);
    assert.equal(code, 1);
    assert.deepEqual(seen.slice(-2), ['failed: The removal ended with status 3', 'read failed']);
    await agentTold();
  });

  it('go on with a removal that was interrupted, and install nothing again', async () => {
    state = 'removing';
    const args = ['--data-dir', agentDir()];
    const without = await run('takeover.sh', args);
    assert.equal(without.code, 2);
    assert.match(without.output, /--remove-with has to say how/);
    const { code } = await run('takeover.sh', [...args, '--remove-with', 'true']);
    assert.equal(code, 0);
    assert.deepEqual(seen.slice(1), [
      ...['read removing', 'removed: The other platform is removed', 'read removed'],
    ]);
  });

  it('report a removal that is done without doing it again', async () => {
    refused = 'removed';
    const removal = `test ! -e ${dir}/removal && echo gone > ${dir}/removal`;
    const args = ['--data-dir', agentDir(), '--remove-with', removal];
    const { code, output } = await run('takeover.sh', args);
    assert.equal(code, 1);
    assert.match(output, /the panel did not take the report: removed/);
    const again = await run('takeover.sh', args);
    assert.equal(again.code, 0, again.output);
    assert.deepEqual(seen.slice(-3), [
      ...['read removing', 'removed: The other platform is removed', 'read removed'],
    ]);
    await agentTold();
  });

  it('say that the agent could not be installed', async () => {
    installer = 'exit 1';
    const removal = ['--remove-with', `echo gone > ${dir}/removal`];
    const { code } = await run('takeover.sh', ['--data-dir', agentDir(), ...removal]);
    assert.equal(code, 1);
    assert.deepEqual(seen.slice(1), [
      ...['failed: The agent could not be installed', 'read failed'],
    ]);
    assert.ok(!existsSync(`${dir}/removal`));
  });
});
