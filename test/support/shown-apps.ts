/** The small apps of a furnished dashboard: one that is well, one that does not build, one that ends at once. */
import { archiveOf } from './gangway-client.ts';

/** Says much when it starts, in colours, and a line for each visit. */
const shopServer = `
const say = (text) => console.log(text);
say('\\x1b[1mshop\\x1b[0m 4.2.0 on port ' + process.env.PORT);
for (let i = 1; i <= 240; i++) {
  const ms = (i * 37) % 190 + 4;
  const path = ['/', '/products', '/products/' + (1000 + i), '/cart', '/api/stock'][i % 5];
  if (i % 53 === 0) console.error('\\x1b[31mERROR\\x1b[0m Payment of order ' + (80000 + i) + ' was refused: card_declined');
  else if (i % 29 === 0) say('\\x1b[33mWARN\\x1b[0m  Slow query (' + ms * 9 + ' ms): SELECT * FROM products WHERE tags @> $1 ORDER BY sold DESC LIMIT 50');
  else say('\\x1b[32mINFO\\x1b[0m  GET ' + path + ' \\x1b[36m200\\x1b[0m in ' + ms + ' ms');
}
require('http').createServer((request, response) => {
  const isBroken = request.url === '/broken';
  response.writeHead(isBroken ? 500 : 200, { 'content-type': 'text/html' });
  response.end('<title>Shop</title><h1>The shop</h1>');
  say('\\x1b[32mINFO\\x1b[0m  ' + request.method + ' ' + request.url);
}).listen(process.env.PORT);
`;

export const shop: Readonly<Record<string, string>> = {
  'package.json': JSON.stringify({
    name: 'shop',
    scripts: {
      build:
        "node -e \"for (const s of ['Compiling 214 modules','Optimising 31 images','Wrote dist/ (1.2 MB)']) console.log(s)\"",
      start: 'node server.js',
    },
  }),
  'server.js': shopServer,
};

export const site = (): Buffer =>
  archiveOf({ 'index.html': '<!doctype html><title>Site</title><h1>Welcome</h1>' });

export const unbuildable = (): Buffer =>
  archiveOf({
    'package.json': JSON.stringify({
      scripts: {
        build:
          "node -e \"console.log('Compiling 214 modules'); console.error('src/cart.ts(18,5): error TS2322: Type string is not assignable to type number.'); process.exit(2)\"",
        start: 'node server.js',
      },
    }),
  });

/** It never listens. */
export const ending = (): Buffer =>
  archiveOf({
    Procfile: 'web: node worker.js\n',
    'worker.js':
      "console.log('connecting to the queue'); console.error('Error: connect ECONNREFUSED 10.0.0.7:5672'); process.exit(1);",
  });
