/** Owns liveness: it says that the web server answers, and touches nothing else. */
import type { Headers, Route } from '../transport.ts';

const body = Buffer.from('{"ok":true}');
const headers: Headers = Object.freeze({
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
});

export const healthRoute: Route = {
  method: 'GET',
  path: '/api/health',
  bare: true,
  handle(exchange) {
    exchange.send(200, headers, body);
  },
};
