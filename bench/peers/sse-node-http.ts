/**
 * Events from one source to every open stream, on node:http alone. Arguments: bytes of a frame,
 * interval in milliseconds.
 */
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eachInterval, firstEvent, headers } from './event-frame.ts';

const open = new Set<ServerResponse>();

const http = createServer((_request, response) => {
  response.on('close', () => open.delete(response));
  response.writeHead(200, headers);
  response.write(firstEvent);
  open.add(response);
}).listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: (http.address() as AddressInfo).port }));
});

eachInterval((frame) => {
  for (const response of open) response.write(frame);
});
