/**
 * Events from one source to every open stream, on fastify, which hands the response over to the
 * route. Arguments: bytes of a frame, interval in milliseconds.
 */
import './production.ts';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import fastify from 'fastify';
import { eachInterval, firstEvent, headers } from './event-frame.ts';

const open = new Set<ServerResponse>();
const app = fastify({ logger: false });
app.get('/*', (_request, reply) => {
  reply.hijack();
  const { raw } = reply;
  raw.on('close', () => open.delete(raw));
  raw.writeHead(200, headers);
  raw.write(firstEvent);
  open.add(raw);
});
await app.listen({ port: 0, host: '127.0.0.1' });
console.log(JSON.stringify({ port: (app.server.address() as AddressInfo).port }));

eachInterval((frame) => {
  for (const response of open) response.write(frame);
});
