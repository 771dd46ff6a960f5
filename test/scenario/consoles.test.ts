import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { codeOf, ConsoleClient } from '../support/console-client.ts';
import { ConsolePlace } from '../support/console-place.ts';
import { eventually } from '../support/eventually.ts';
import type { AppInfo, Client } from '../support/gangway-client.ts';
import { until } from '../support/gangway.ts';
import { processesOf } from '../support/processes.ts';

describe('consoles', () => {
  let place: ConsolePlace;
  let me: Client;
  let app: AppInfo;
  let path: string;
  before(async () => {
    place = await ConsolePlace.open();
    ({ app, path } = place);
    me = place.gangway.client;
  });
  after(() => place.end());
  afterEach(() => place.closeAll());
  const open = (query = '', client = me): Promise<ConsoleClient> => place.console(query, client);

  describe('a session', () => {
    it('begins with its id and carries what is typed and shown', async () => {
      const shell = await open('?cols=100&rows=30');
      assert.equal(shell.stream.status, 200);
      assert.match(shell.id, /^str_/);
      await shell.type('echo "so $((6*7))"; tty; stty size; pwd; echo $APP_DATA_DIR\r');
      await shell.sees('so 42');
      await shell.sees(/\/pts\/\d+/);
      await shell.sees('30 100');
      await shell.sees(new RegExp(`/${app.id}/data`));
    });

    it('is resized', async () => {
      const shell = await open();
      await shell.type('stty size\r');
      await shell.sees('24 80');
      await shell.resize(141, 37);
      await shell.type('stty size\r');
      await shell.sees('37 141');
    });

    it('keeps colours, and characters over whatever cuts them', async () => {
      const shell = await open();
      await shell.type(
        `printf '\\033[31mré\\342'; sleep 0.3; printf '\\202\\254\\377.\\033[0m\\n'\r`,
      );
      await shell.sees('\u001b[31mré€\ufffd.\u001b[0m');
    });

    it('ends with exit when its program does', async () => {
      const shell = await open();
      await shell.type('echo good-$((1+1)); exit 3\r');
      await shell.ends('exit');
      assert.match(shell.text, /good-2/);
      assert.equal(
        codeOf(await shell.post({ sessionId: shell.id, data: 'x' })),
        '404 NO_SUCH_SESSION',
      );
      const back = await shell.back();
      assert.equal(back.stream.status, 404);
      assert.equal(back.code, 'NO_SUCH_SESSION');
      assert.equal((await shell.delete()).status, 204);
    });

    it('ends when it is closed, and stays closed', async () => {
      const shell = await open();
      await shell.type('trap "" HUP; sleep 8101\r');
      await shell.sees('8101');
      assert.equal((await shell.delete()).status, 204);
      await shell.ends('exit');
      assert.equal((await shell.delete()).status, 204);
      assert.equal(
        codeOf(await shell.post({ sessionId: shell.id, data: 'x' })),
        '404 NO_SUCH_SESSION',
      );
    });

    it('takes a key and a long paste whole', async () => {
      const shell = await open();
      await shell.type(`stty raw -echo; printf 'now''-typing'; head -c 61000 | md5sum\r`);
      // By then the shell has left the terminal to the program.
      await shell.sees('now-typing');
      await shell.type('é'.repeat(30_500));
      await shell.sees(/[0-9a-f]{32} {2}-/);
    });
  });

  describe('who comes back', () => {
    it('finds the same shell, what was shown last, and goes on', async () => {
      const shell = await open();
      await shell.type('MINE=kept; echo first-$((1+1))\r');
      await shell.sees('first-2');
      shell.drop();
      await shell.type('sleep 0.2; echo meanwhile-$((1+1))\r');
      const back = place.closed(await shell.back('&cols=90&rows=20'));
      await back.sees('first-2');
      await back.sees('meanwhile-2');
      assert.equal(back.id, shell.id);
      await back.type('echo [$MINE]; stty size\r');
      await back.sees('[kept]');
      await back.sees('20 90');
    });

    it('by itself, as browsers do, names what the stream told as its id', async () => {
      const shell = await open();
      await shell.type('MINE=kept; echo here-$((1+1))\r');
      await shell.sees('here-2');
      shell.drop();
      const headers = { 'last-event-id': shell.stream.lastId };
      const back = place.closed(await ConsoleClient.ask(me, path, '', headers));
      assert.equal(back.id, shell.id);
      await back.type('echo [$MINE]\r');
      await back.sees('[kept]');
      await back.delete();
      assert.equal((await ConsoleClient.ask(me, path, '', headers)).code, 'NO_SUCH_SESSION');
    });

    it('takes over from who is still there', async () => {
      const shell = await open();
      const second = place.closed(await shell.back());
      await shell.ends('failure');
      await second.type('echo for-$((1+1))\r');
      await second.sees('for-2');
      assert.doesNotMatch(shell.text, /for-2/);
    });

    it('is shown the last 64 KiB of a flood that nobody watched', async () => {
      const shell = await open();
      await shell.type('stty -echo; PS1=; echo quiet-$((1+1))\r');
      await shell.sees('quiet-2');
      shell.drop();
      await shell.type('for i in $(seq 1 40000); do echo line $i; done; echo END-$((1+1))\r');
      let back = await shell.back();
      // With the end of its line, which may come apart from it.
      await eventually('the end of the flood', () => back.text.includes('END-2\r\n'));
      back = place.closed(await shell.back());
      await back.sees('END-2\r\n');
      const replayed = Buffer.byteLength(back.text);
      assert.ok(replayed <= 65_536 && replayed > 65_000, String(replayed));
      assert.match(back.text, /line 39999/);
    });

    it('is shown what its program said last, when that ended meanwhile', async () => {
      const shell = await open();
      await shell.type('echo here-$((1+1))\r');
      await shell.sees('here-2');
      shell.drop();
      await shell.type('sleep 0.1; echo the-last-$((1+1)); exit\r');
      await until('its end', 20_000, async () => {
        return (await shell.post({ sessionId: shell.id, data: '' })).status === 404;
      });
      const back = await shell.back();
      await back.ends('exit');
      assert.match(back.text, /the-last-2/);
      assert.equal((await shell.back()).code, 'NO_SUCH_SESSION');
    });

    it('is somebody else: refused', async () => {
      const shell = await open();
      const query = `?sessionId=${shell.id}`;
      const stranger = await ConsoleClient.ask(place.other, path, query);
      assert.equal(stranger.stream.status, 403);
      assert.equal(stranger.code, 'FORBIDDEN');
      await shell.type('echo still-$((1+1))\r');
      await shell.sees('still-2');
    });
  });

  describe('input', () => {
    it('is refused when it is nonsense', async () => {
      const shell = await open();
      const { id: sessionId } = shell;
      const bad: unknown[] = [
        '', '{', '[]', 'null', '7', '"text"', {}, { data: 'x' }, { sessionId }, { sessionId: 7, data: 'x' },
        { sessionId, data: 7 }, { sessionId, data: null }, { sessionId, resize: null },
        { sessionId, data: 'x', resize: { cols: 1, rows: 1 } }, { sessionId, resize: {} },
        { sessionId, resize: { cols: 0, rows: 10 } }, { sessionId, resize: { cols: 10, rows: 1001 } },
        { sessionId, resize: { cols: 1.5, rows: 10 } }, { sessionId, resize: { cols: '80', rows: 10 } },
        { sessionId, resize: { cols: -1, rows: 10 } }, { sessionId, resize: { cols: 1e9, rows: 1 } },
        { sessionId, resize: { cols: 80 } }, { sessionId, resize: { rows: 24 } }, { sessionId, resize: [80, 24] },
        { sessionId, resize: '80x24' }, `{"sessionId":"${sessionId}","resize":{"cols":NaN,"rows":1}}`,
        { sessionId: [sessionId], data: 'x' }, { sessionId, data: ['x'] }, { sessionId, data: '\ud83d' },
      ]; // prettier-ignore
      for (const body of bad) {
        const answer = await shell.post(body);
        assert.equal(codeOf(answer), '400 BAD_USER_INPUT', JSON.stringify(body));
      }
      for (const query of [
        'cols=0',
        'rows=1001',
        'cols=x',
        'rows=1.5',
        'cols=-1',
        'cols=',
        'mode=x',
        'mode=attach',
        'cols=1&cols=2',
        'sessionId=',
      ]) {
        const asked = await ConsoleClient.ask(me, path, `?${query}`);
        assert.equal(`${String(asked.stream.status)} ${asked.code}`, '400 BAD_USER_INPUT', query);
      }
      const { status } = await shell.post({ sessionId, data: '', more: { of: 'it' } });
      assert.equal(status, 204);
      assert.equal(
        (await shell.post({ sessionId, resize: { cols: 1, rows: 1, extra: 1 } })).status,
        204,
      );
      assert.equal(
        (await shell.post({ sessionId, resize: { cols: 1000, rows: 1000 } })).status,
        204,
      );
    });

    it('is at most 64 KiB a call', async () => {
      const shell = await open();
      const { id: sessionId } = shell;
      await shell.type('stty raw -echo; cat > /dev/null\r');
      assert.equal((await shell.post({ sessionId, data: 'a'.repeat(65_536) })).status, 204);
      const over = await shell.post({ sessionId, data: 'a'.repeat(65_537) });
      assert.equal(codeOf(over), '413 PAYLOAD_TOO_LARGE');
      const wide = await shell.post({ sessionId, data: 'é'.repeat(40_000) });
      assert.equal(codeOf(wide), '413 PAYLOAD_TOO_LARGE');
      const huge = await shell.post({ sessionId, data: 'a'.repeat(2_000_000) });
      assert.equal(huge.status, 413);
    });

    it('is refused while a program does not read, and the rest goes on', async () => {
      const shell = await open();
      await shell.type(`stty raw -echo; printf 'now''-typing'; sleep 1000\r`);
      // Before that, the terminal takes what is too much for it and drops it.
      await shell.sees('now-typing');
      const answers: string[] = [];
      for (let i = 0; i < 40; i++) {
        const answer = await shell.post({ sessionId: shell.id, data: 'a'.repeat(60_000) });
        answers.push(answer.status === 204 ? '204' : codeOf(answer));
      }
      assert.ok(answers.includes('429 RATE_LIMITED'), answers.join());
      const next = await open();
      await next.type('echo well-$((1+1))\r');
      await next.sees('well-2');
      assert.equal((await shell.delete()).status, 204);
    });

    it('is text: other bytes are refused, and every key is typed', async () => {
      const shell = await open();
      const binary = Buffer.concat([
        Buffer.from(`{"sessionId":"${shell.id}","data":"`),
        Buffer.from([0xc3, 0x28, 0xff, 0xfe]),
        Buffer.from('"}'),
      ]);
      const answer = await me.ask(path, { method: 'POST', body: binary });
      assert.equal(codeOf(answer), '400 BAD_USER_INPUT');
      await shell.type(`stty raw -echo; printf 'now''-typing'; head -c 130 | md5sum\r`);
      await shell.sees('now-typing');
      const keys = `${String.fromCharCode(...Array.from({ length: 128 }, (_, at) => at))}é`;
      await shell.type(keys);
      await shell.sees(createHash('md5').update(keys).digest('hex'));
    });

    it('in 500 calls at once is typed, each of them whole', async () => {
      const shell = await open();
      await shell.type(`stty -echo; printf 'now''-typing\\n'; sort | uniq -c\r`);
      await shell.sees('now-typing');
      const agent = new Agent({ keepAlive: true, maxSockets: 100 });
      const body = JSON.stringify({ sessionId: shell.id, data: `${'x'.repeat(99)}\r` });
      const url = `${place.gangway.url}${path}`;
      const all = Array.from({ length: 500 }, () => statusOf(url, agent, me.cookie, body));
      assert.deepEqual([...new Set(await Promise.all(all))], [204]);
      agent.destroy();
      await shell.type('\u0004');
      await shell.sees(/ 500 x{99}\r\n/);
    });

    it('of a session that never was, or of another app, is refused', async () => {
      const shell = await open();
      const none = await shell.post({ sessionId: 'str_none', data: 'x' });
      assert.equal(codeOf(none), '404 NO_SUCH_SESSION');
      const elsewhere = await me.ask('/api/apps/app_none/attach', {
        method: 'POST',
        body: JSON.stringify({ sessionId: shell.id, data: 'x' }),
      });
      assert.equal(codeOf(elsewhere), '404 NO_SUCH_SESSION');
      const database = await me.ask(`/api/databases/${app.id}/attach`, {
        method: 'POST',
        body: JSON.stringify({ sessionId: shell.id, data: 'x' }),
      });
      assert.equal(codeOf(database), '404 NO_SUCH_SESSION');
    });
  });

  describe('a flood', () => {
    /** Of the service, its runner and what that has for terminals. */
    const residentMb = (): number =>
      processesOf(place.gangway.dataDir)
        .filter(({ command }) => /\/main\.[jt]s\b/.test(command))
        .reduce((sum, { pid }) => sum + residentKb(pid) / 1024, 0);

    it('waits for a client that does not read, and is forgotten with it', async () => {
      const shell = await open();
      const { execConsole } = await me.must<{ execConsole: { output: string } }>(
        'mutation($id: ID!) { execConsole(appId: $id, command: "cd $APP_DATA_DIR && echo 0 > laps && pwd") { output } }',
        { id: app.id },
      );
      const file = join(execConsole.output.trim(), 'laps');
      /** How often its program has put out 200 kB. */
      const lapsOf = (): number => Number(readFileSync(file, 'utf8'));
      const lap = 'head -c 200000 /dev/zero | tr "\\0" x; i=$((i+1)); echo $i > laps';
      const beforeMb = residentMb();
      const reader = connect(place.gangway.port, '127.0.0.1');
      reader.on('error', () => undefined).pause();
      reader.write(
        `GET ${path}?sessionId=${shell.id} HTTP/1.1\r\nHost: a\r\nCookie: ${me.cookie}\r\n\r\n`,
      );
      await shell.ends('failure');
      await shell.type(`cd $APP_DATA_DIR; while :; do ${lap}; done\r`);
      let [laps, still] = [0, 0];
      await until('it stands still', 60_000, () => {
        const now = lapsOf();
        still = now === laps && now > 0 ? still + 1 : 0;
        laps = now;
        return still === 20;
      });
      assert.ok(
        residentMb() - beforeMb < 128,
        `${String(beforeMb)} became ${String(residentMb())}`,
      );
      reader.resume();
      await until('it goes on', 60_000, () => lapsOf() > laps);
      reader.destroy();
      assert.equal((await shell.delete()).status, 204);
    });

    it('that nobody watches goes on, and keeps nobody waiting', async () => {
      const shells = await Promise.all(Array.from({ length: 8 }, () => open()));
      for (const shell of shells) await shell.type('yes so-it-goes\r');
      for (const shell of shells) await shell.sees('so-it-goes');
      const beforeMb = residentMb();
      for (const shell of shells) shell.drop();
      const next = await open();
      for (let turn = 0; turn < 20; turn++) {
        await next.type(`echo turn-$((${String(turn)}+1))\r`);
        await next.sees(`turn-${String(turn + 1)}\r`);
      }
      assert.ok(
        residentMb() - beforeMb < 128,
        `${String(beforeMb)} became ${String(residentMb())}`,
      );
      const [first] = shells;
      assert.ok(first);
      const back = place.closed(await first.back());
      await back.sees('so-it-goes');
    });
  });
});

function residentKb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1]);
}

/** Of a POST; `fetch` would make a connection for each of very many. */
function statusOf(url: string, agent: Agent, cookie: string, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asking = request(url, { method: 'POST', agent, headers: { cookie } }, (answer) => {
      answer.resume().once('end', () => {
        resolve(answer.statusCode ?? 0);
      });
    });
    asking.once('error', reject).end(body);
  });
}
