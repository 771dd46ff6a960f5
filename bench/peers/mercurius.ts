/** Fastify and mercurius, compiling documents (JIT) when they come again. Argument: what to serve. */
import './production.ts';
import type { AddressInfo } from 'node:net';
import fastify from 'fastify';
import mercurius from 'mercurius';
import { admit, readServed, resolversOf, typeDefs } from './served-apps.ts';

const served = readServed();
const app = fastify({ logger: false });
await app.register(mercurius.default, {
  schema: typeDefs,
  resolvers: resolversOf(served),
  path: '/api/graphql',
  jit: 1,
  context: ({ headers }) => {
    admit(served, headers.authorization);
    return {};
  },
});
await app.listen({ port: 0, host: '127.0.0.1' });
console.log(JSON.stringify({ port: (app.server.address() as AddressInfo).port }));
