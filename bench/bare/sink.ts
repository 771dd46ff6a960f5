/**
 * Bare uWebSockets.js that writes bodies to files and answers: no hash, no check, no fsync.
 * Argument: a folder, in which the last part of the path names the file.
 */
import { createWriteStream } from 'node:fs';
import { basename, join } from 'node:path';
import * as uWS from 'uWebSockets.js';

const [folder = ''] = process.argv.slice(2);

uWS
  .App()
  .post('/*', (res, req) => {
    const sink = createWriteStream(join(folder, basename(req.getUrl())));
    res.onAborted(() => sink.destroy());
    sink.on('drain', () => res.resume());
    res.onData((chunk, last) => {
      if (!sink.write(Buffer.from(chunk.slice(0)))) res.pause();
      if (last) sink.end(() => res.cork(() => res.end('{"ok":true}')));
    });
  })
  .listen('127.0.0.1', 0, (socket) => {
    console.log(JSON.stringify({ port: uWS.us_socket_local_port(socket) }));
  });
