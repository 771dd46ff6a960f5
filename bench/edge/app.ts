/**
 * What the proxies stand before: bare uWebSockets.js that answers `/small` and `/large`, reads what is sent to
 * `/upload` whole, and says on `/echo` what it was told.
 */
import * as uWS from 'uWebSockets.js';
import { largeAnswer, smallAnswer, uploadAnswer } from './answers.ts';

const answering = (body: Buffer) => (res: uWS.HttpResponse) => {
  res.writeHeader('Content-Type', 'text/plain').end(body);
};

uWS
  .App()
  .get('/small', answering(smallAnswer))
  .get('/large', answering(largeAnswer))
  .post('/upload', (res) => {
    res.onAborted(() => undefined);
    let bytes = 0;
    res.onData((chunk, isLast) => {
      bytes += chunk.byteLength;
      if (isLast) res.cork(() => res.end(uploadAnswer(bytes)));
    });
  })
  .ws('/echo', { message: (socket, message, isBinary) => void socket.send(message, isBinary) })
  .listen('127.0.0.1', 0, (socket) => {
    console.log(JSON.stringify({ port: uWS.us_socket_local_port(socket) }));
  });
