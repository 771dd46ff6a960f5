/**
 * Apollo Server on fastify, which is faster than its stand-alone server, with what costs time and is
 * not asked for switched off. Argument: what to serve.
 */
import './production.ts';
import type { AddressInfo } from 'node:net';
import { ApolloServer } from '@apollo/server';
import { ApolloServerPluginCacheControlDisabled } from '@apollo/server/plugin/disabled';
import { fastifyApolloHandler } from '@as-integrations/fastify';
import fastify from 'fastify';
import { admit, readServed, resolversOf, typeDefs } from './served-apps.ts';

const served = readServed();
const apollo = new ApolloServer({
  typeDefs,
  resolvers: resolversOf(served),
  persistedQueries: false,
  cache: 'bounded',
  plugins: [ApolloServerPluginCacheControlDisabled()],
});
await apollo.start();
const app = fastify({ logger: false });
app.post(
  '/api/graphql',
  fastifyApolloHandler(apollo, {
    context: async ({ headers }) => {
      admit(served, headers.authorization);
      return {};
    },
  }),
);
await app.listen({ port: 0, host: '127.0.0.1' });
console.log(JSON.stringify({ port: (app.server.address() as AddressInfo).port }));
