/** Uploads a file once and prints the seconds it took, as JSON. */
import { createReadStream, statSync } from 'node:fs';
import { request } from 'node:http';

const args = JSON.parse(process.argv[2] ?? '{}') as {
  url: string;
  headers: Record<string, string>;
  file: string;
};
const startMs = performance.now();
const sent = request(args.url, {
  method: 'POST',
  headers: { ...args.headers, 'content-length': String(statSync(args.file).size) },
});
sent.on('response', (response) => {
  let body = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => (body += chunk));
  response.on('end', () => {
    if (response.statusCode !== 200) throw new Error(`${String(response.statusCode)}: ${body}`);
    console.log(JSON.stringify({ seconds: (performance.now() - startMs) / 1000 }));
  });
});
createReadStream(args.file, { highWaterMark: 1 << 20 }).pipe(sent);
