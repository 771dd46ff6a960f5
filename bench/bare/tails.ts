/**
 * Bare uWebSockets.js that writes one frame to every open stream each interval, corked, in one loop:
 * the least that a fan-out can cost. Arguments: frame bytes, interval in milliseconds.
 */
import * as uWS from 'uWebSockets.js';

const [bytes = '0', intervalMs = '50'] = process.argv.slice(2);
const frame = Buffer.from(
  `event: data\ndata: "${'x'.repeat(Math.max(0, Number(bytes) - 22))}"\n\n`,
);
const open = new Set<uWS.HttpResponse>();

uWS
  .App()
  .get('/*', (res) => {
    res.onAborted(() => open.delete(res));
    res.cork(() => {
      res.writeHeader('Content-Type', 'text/event-stream').write('event: session\ndata: "s"\n\n');
    });
    open.add(res);
  })
  .listen('127.0.0.1', 0, (socket) => {
    console.log(JSON.stringify({ port: uWS.us_socket_local_port(socket) }));
  });

setInterval(() => {
  for (const res of open) res.cork(() => res.write(frame));
}, Number(intervalMs));
