/**
 * Bare uWebSockets.js with node-pty: GET opens a shell and streams its output, POST types into it. This is
 * the least that a console over HTTP can cost: there is no sign-in and no limit.
 */
import { spawn } from '@lydell/node-pty';
import type { IPty } from '@lydell/node-pty';
import * as uWS from 'uWebSockets.js';

const open = new Map<string, IPty>();
let count = 0;

uWS
  .App()
  .get('/*', (res) => {
    const id = `s${String((count += 1))}`;
    const pty = spawn('/bin/bash', ['--norc', '--noprofile'], { cwd: '/', cols: 80, rows: 24 });
    open.set(id, pty);
    res.onAborted(() => {
      open.delete(id);
      pty.kill();
    });
    res.cork(() => {
      res.writeHeader('Content-Type', 'text/event-stream');
      res.write(`event: session\ndata: ${JSON.stringify(id)}\n\n`);
    });
    pty.onData((text) => {
      if (!open.has(id)) return;
      res.cork(() => res.write(`event: data\ndata: ${JSON.stringify(text)}\n\n`));
    });
  })
  .post('/*', (res) => {
    let body = '';
    res.onAborted(() => undefined);
    res.onData((chunk, isLast) => {
      body += Buffer.from(chunk).toString();
      if (!isLast) return;
      const { sessionId, data } = JSON.parse(body) as { sessionId: string; data: string };
      open.get(sessionId)?.write(data);
      res.cork(() => res.writeStatus('204 No Content').endWithoutBody());
    });
  })
  .del('/*', (res) => {
    res.cork(() => res.writeStatus('204 No Content').endWithoutBody());
  })
  .listen('127.0.0.1', 0, (socket) => {
    console.log(JSON.stringify({ port: uWS.us_socket_local_port(socket) }));
  });
