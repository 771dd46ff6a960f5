/**
 * Bare node:http that answers every request with the bytes of a file, after reading the body: what
 * Node's own server can do with the same answer. Arguments: the file, then the content type.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const [file = '', type = 'application/json'] = process.argv.slice(2);
const bytes = readFileSync(file);
const headers = {
  'Content-Type': type,
  'Cache-Control': 'no-store',
  'Content-Length': bytes.length,
};

const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    response.writeHead(200, headers).end(bytes);
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
