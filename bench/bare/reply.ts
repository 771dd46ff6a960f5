/**
 * Bare uWebSockets.js that answers every request with the bytes of a file, after reading the body
 * of a POST: what the library itself can do with the same answer.
 * Arguments: the file, then the content type.
 */
import { readFileSync } from 'node:fs';
import * as uWS from 'uWebSockets.js';

const [file = '', type = 'application/json'] = process.argv.slice(2);
const bytes = readFileSync(file);

uWS
  .App()
  .get('/*', (res) => {
    res.writeHeader('Content-Type', type).writeHeader('Cache-Control', 'no-store').end(bytes);
  })
  .post('/*', (res) => {
    res.onAborted(() => undefined);
    res.onData((_chunk, last) => {
      if (!last) return;
      res.cork(() => {
        res.writeHeader('Content-Type', type).writeHeader('Cache-Control', 'no-store').end(bytes);
      });
    });
  })
  .listen('127.0.0.1', 0, (socket) => {
    console.log(JSON.stringify({ port: uWS.us_socket_local_port(socket) }));
  });
