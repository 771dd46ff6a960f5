/** An app that says to its output what it is asked to say, for tests of what is shown of it. */
import { archiveOf, type AppInfo, type Client } from './gangway-client.ts';

// `/say?text=` prints a text as it is, `/count?lines=&bytes=` numbered lines, `/env` its variables.
const program = `
const { createServer } = require('node:http');
createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://app');
  if (pathname === '/say') process.stdout.write(searchParams.get('text') + '\\n');
  if (pathname === '/bytes') process.stdout.write(Buffer.from(searchParams.get('hex') + '0a', 'hex'));
  if (pathname === '/env') {
    for (const [key, value] of Object.entries(process.env)) console.log(key + '=' + value);
    console.log(JSON.stringify(process.env));
    console.error(Buffer.from(JSON.stringify(process.env)).toString('base64'));
  }
  if (pathname === '/count') {
    const fill = (searchParams.get('fill') ?? 'x').repeat(Number(searchParams.get('bytes') ?? 0));
    let text = '';
    for (let i = 1; i <= Number(searchParams.get('lines')); i++) text += 'no ' + i + '. ' + fill + '\\n';
    process.stdout.write(text);
  }
  response.end('said');
}).listen(process.env.PORT);
`;

export const talker: Buffer = archiveOf({ Procfile: 'web: node web.js', 'web.js': program });

/** Asks a talking app for something. */
export async function say(
  client: Client,
  { slug }: Pick<AppInfo, 'slug'>,
  path: string,
  query: Record<string, string> = {},
): Promise<void> {
  const { status } = await client.visit(slug, `${path}?${new URLSearchParams(query).toString()}`);
  if (status !== 200) throw new Error(`${slug} said nothing: ${String(status)}`);
}
