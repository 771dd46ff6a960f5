/**
 * Bare uWebSockets.js that appends every body to a file and syncs it, one after the other, before it
 * answers with the bytes of another file. It shows the cost of making each call durable on its own. (With
 * threads, one sync would carry several calls, which is group commit.) Arguments: the file of the answer,
 * then the file that is appended to.
 */
import { fdatasyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import * as uWS from 'uWebSockets.js';

const [answerFile = '', logFile = ''] = process.argv.slice(2);
const answer = readFileSync(answerFile);
const log = openSync(logFile, 'a');

uWS
  .App()
  .post('/*', (res) => {
    const chunks: Buffer[] = [];
    res.onAborted(() => undefined);
    res.onData((chunk, last) => {
      chunks.push(Buffer.from(chunk.slice(0)));
      if (!last) return;
      writeSync(log, Buffer.concat(chunks));
      fdatasyncSync(log);
      res.cork(() => {
        res.writeHeader('Content-Type', 'application/json').end(answer);
      });
    });
  })
  .listen('127.0.0.1', 0, (socket) => {
    console.log(JSON.stringify({ port: uWS.us_socket_local_port(socket) }));
  });
