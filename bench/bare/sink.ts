/** Bare uWebSockets.js that writes a body to a file and answers: no hash, no check, no fsync. */
import { createWriteStream } from 'node:fs';
import * as uWS from 'uWebSockets.js';

const [file = ''] = process.argv.slice(2);

uWS
  .App()
  .post('/*', (res) => {
    const sink = createWriteStream(file);
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
