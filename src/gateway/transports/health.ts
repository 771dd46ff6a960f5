/** Owns liveness: the answer says that the web server answers, and touches nothing else. */
import type { ConstantAnswer, Route } from '../transport.ts';

const alive: ConstantAnswer = Object.freeze({
  headers: Object.freeze({ 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }),
  body: Buffer.from('{"ok":true}'),
});

export const healthRoute: Route = {
  method: 'GET',
  path: '/api/health',
  constant: alive,
  handle(exchange) {
    exchange.send(200, alive.headers, alive.body);
  },
};
