/**
 * GraphQL Yoga behind node:http, with its caches of parsed and validated documents. Arguments: what
 * to serve; then `jit` for compiled documents, by the plugin that its documentation names.
 */
import './production.ts';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { useGraphQlJit } from '@envelop/graphql-jit';
import { createSchema, createYoga } from 'graphql-yoga';
import { admit, readServed, resolversOf, typeDefs } from './served-apps.ts';

const served = readServed();
const yoga = createYoga({
  schema: createSchema({ typeDefs, resolvers: resolversOf(served) }),
  graphqlEndpoint: '/api/graphql',
  logging: false,
  graphiql: false,
  landingPage: false,
  cors: false,
  multipart: false,
  plugins: process.argv[3] === 'jit' ? [useGraphQlJit()] : [],
  context: ({ request }) => {
    admit(served, request.headers.get('authorization'));
    return {};
  },
});
const http = createServer(yoga).listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: (http.address() as AddressInfo).port }));
});
