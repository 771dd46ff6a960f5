/** Owns small projects to try: real ones, that build and run without anything from outside. */

export interface Sample {
  readonly key: string;
  readonly title: string;
  readonly text: string;
  readonly files: Readonly<Record<string, string>>;
}

const style = `:root { color-scheme: light dark; font: 1.05rem/1.6 system-ui, sans-serif; }
body { max-width: 38rem; margin: 12vh auto; padding: 0 1.5rem; }
h1 { font-size: 2rem; letter-spacing: -0.02em; }
input, button { font: inherit; padding: 0.4rem 0.8rem; }
`;

const staticSite = {
  'index.html': `<!doctype html>
<html lang="en">
  <meta charset="utf-8" />
  <meta name="viewport" content="width=device-width" />
  <title>Hello</title>
  <link rel="stylesheet" href="style.css" />
  <h1>Hello from Gangway</h1>
  <p>This page is three files in a folder. Change them, drop the folder again, and see it change.</p>
  <p>It is <time id="now"></time> where you are.</p>
  <script src="clock.js"></script>
</html>
`,
  'style.css': style,
  'clock.js': `const now = document.getElementById('now');
const show = () => { now.textContent = new Date().toLocaleTimeString(); };
show();
setInterval(show, 1000);
`,
};

const nodeServer = {
  'package.json': `{
  "name": "hello-node",
  "private": true,
  "type": "module",
  "scripts": { "start": "node server.js" }
}
`,
  'server.js': `import { createServer } from 'node:http';

let visits = 0;
const server = createServer((request, response) => {
  console.log(request.method, request.url);
  if (request.url === '/api') {
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ visits, since: started }));
    return;
  }
  visits += 1;
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.end(\`<h1>Hello from Node \${process.version}</h1><p>Visit \${visits}. <a href="/api">As JSON</a></p>\`);
});

const started = new Date().toISOString();
server.listen(Number(process.env.PORT), () => console.log('listening on', process.env.PORT));
process.on('SIGTERM', () => server.close());
`,
};

const notes = {
  'package.json': `{
  "name": "notes",
  "private": true,
  "type": "module",
  "scripts": { "start": "node server.js" }
}
`,
  'server.js': `import { createServer } from 'node:http';
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';

// What lies in APP_DATA_DIR outlives deployments.
const file = join(process.env.APP_DATA_DIR, 'notes.txt');
const escape = (text) => text.replace(/[&<>"]/g, (one) => \`&#\${one.charCodeAt(0)};\`);

async function page() {
  const lines = (await readFile(file, 'utf8').catch(() => '')).split('\\n').filter(Boolean);
  const list = lines.map((line) => \`<li>\${escape(line)}</li>\`).join('');
  return \`<!doctype html><meta charset="utf-8"><title>Notes</title><h1>Notes</h1>
<form method="post"><input name="note" required autofocus> <button>Keep it</button></form><ul>\${list}</ul>\`;
}

async function keep(request) {
  let body = '';
  for await (const chunk of request) if ((body += chunk).length > 10_000) return;
  const note = new URLSearchParams(body).get('note')?.trim().replace(/\\s+/g, ' ');
  if (note) await appendFile(file, \`\${note}\\n\`);
}

createServer(async (request, response) => {
  if (request.method === 'POST') {
    await keep(request);
    response.writeHead(303, { Location: '/' }).end();
    return;
  }
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.end(await page());
}).listen(Number(process.env.PORT), () => console.log('keeping notes in', file));
`,
};

export const samples: readonly Sample[] = [
  {
    key: 'page',
    title: 'Static page',
    text: 'HTML, a style sheet and a script.',
    files: staticSite,
  },
  {
    key: 'node',
    title: 'Node.js server',
    text: 'Pages and JSON, with lines in its log.',
    files: nodeServer,
  },
  {
    key: 'notes',
    title: 'Notes',
    text: 'Keeps what visitors write, over deployments.',
    files: notes,
  },
];
