/**
 * Bare uWebSockets.js that sends numbered lines as they fall due to every open stream, corked, one frame
 * in each flush: the least that it takes to deliver lines at that pace. Arguments: lines a second, bytes
 * of a line, milliseconds between two flushes.
 */
import * as uWS from 'uWebSockets.js';

const [perSecond = 100, bytes = 100, flushMs = 50] = process.argv.slice(2).map(Number);
const open = new Set<uWS.HttpResponse>();
const startMs = Date.now();
let printed = 0;

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
  const text = due();
  if (text === '') return;
  const frame = Buffer.from(`id: bare:${printed}\nevent: data\ndata: ${JSON.stringify(text)}\n\n`);
  for (const res of open) res.cork(() => res.write(frame));
}, flushMs);

function due(): string {
  let text = '';
  for (;;) {
    const dueMs = startMs + Math.round((printed * 1000) / perSecond);
    if (dueMs > Date.now()) return text;
    printed += 1;
    text += `${`${printed} ${dueMs} `.padEnd(bytes - 1, 'x')}\n`;
  }
}
