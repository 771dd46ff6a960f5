/**
 * Entry point of the file server that static apps run: `node main.ts <folder>`, port in `PORT`. This one
 * file uses only Node's own modules, so that it runs from wherever it is copied to.
 *
 * 1. It serves the files of the folder and nothing else: no way out by `..` or links, and no name that
 *    begins with a dot but `.well-known`.
 * 2. `/x` is the file `x`, else `x.html`, else the folder's `index.html` behind a redirect to `/x/`.
 * 3. A missing file is `404.html` with status 404. Without that file, a page that a browser asked for is
 *    `index.html` with status 200 (a single-page app's own routes), and anything else a bare 404.
 */
import fs from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import { pipeline } from 'node:stream';

// An import as a module would load Node's WebSocket client too: 6 MB in every static app.
const http = process.getBuiltinModule('node:http');

const types: Readonly<Record<string, string>> = {
  '.avif': 'image/avif',
  '.bmp': 'image/bmp',
  '.css': 'text/css; charset=utf-8',
  '.csv': 'text/csv; charset=utf-8',
  '.gif': 'image/gif',
  '.htm': 'text/html; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.mp3': 'audio/mpeg',
  '.mp4': 'video/mp4',
  '.ogg': 'audio/ogg',
  '.otf': 'font/otf',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.ttf': 'font/ttf',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.wav': 'audio/wav',
  '.webm': 'video/webm',
  '.webmanifest': 'application/manifest+json',
  '.webp': 'image/webp',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
  '.xml': 'application/xml; charset=utf-8',
  '.zip': 'application/zip',
};

interface Found {
  file: string;
  stat: fs.Stats;
}

/** The path of a request, decoded and without `.`, `..` and empty parts; undefined for nonsense. */
function readPath(target: string): string | undefined {
  const [encoded = ''] = target.split('?', 1);
  let decoded: string;
  try {
    decoded = decodeURIComponent(encoded);
  } catch {
    return undefined; // The encoding is invalid.
  }
  if (!decoded.startsWith('/') || /[\0\\]/.test(decoded)) return undefined;
  return path.posix.normalize(decoded).replace(/\/{2,}/g, '/');
}

function isHidden(name: string): boolean {
  return name.split('/').some((part) => part.startsWith('.') && part !== '.well-known');
}

async function statFile(root: string, name: string): Promise<Found | undefined> {
  try {
    const file = await fs.promises.realpath(path.join(root, name));
    if (file !== root && !file.startsWith(`${root}${path.sep}`)) return undefined;
    return { file, stat: await fs.promises.stat(file) };
  } catch {
    return undefined; // A client sees no difference between a missing file and a forbidden one.
  }
}

async function regularFile(root: string, name: string): Promise<Found | undefined> {
  const found = await statFile(root, name);
  return found?.stat.isFile() ? found : undefined;
}

/** `bytes=a-b`, one range only; undefined when the whole file is to be sent. */
function readRange(
  header: string | undefined,
  size: number,
): { start: number; end: number } | 'unsatisfiable' | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return undefined;
  const [, first = '', last = ''] = match;
  const start = first === '' ? Math.max(size - Number(last), 0) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (start >= size || (first === '' && Number(last) === 0)) return 'unsatisfiable';
  return start > end ? undefined : { start, end };
}

function isFresh(req: IncomingMessage, etag: string, stat: fs.Stats): boolean {
  const known = req.headers['if-none-match'];
  if (known !== undefined) {
    return known.split(',').some((tag) => ['*', etag].includes(tag.trim().replace(/^W\//, '')));
  }
  const since = Date.parse(req.headers['if-modified-since'] ?? '');
  return Number.isFinite(since) && Math.floor(stat.mtimeMs / 1000) * 1000 <= since;
}

function sendText(res: ServerResponse, status: number, text: string): void {
  const body = Buffer.from(`${text}\n`);
  res.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': body.length,
    'x-content-type-options': 'nosniff',
  });
  res.end(res.req.method === 'HEAD' ? undefined : body);
}

function sendFile(req: IncomingMessage, res: ServerResponse, found: Found, status: number): void {
  const { file, stat } = found;
  // The inode too: two releases may hold files of one size and, from one archive tool, one time.
  const etag = `"${stat.size.toString(36)}-${Math.round(stat.mtimeMs).toString(36)}-${stat.ino.toString(36)}"`;
  res.setHeader('etag', etag);
  res.setHeader('last-modified', stat.mtime.toUTCString());
  res.setHeader('cache-control', 'public, max-age=0, must-revalidate');
  res.setHeader('x-content-type-options', 'nosniff');
  if (status === 200 && isFresh(req, etag, stat)) {
    res.writeHead(304).end();
    return;
  }
  const type = types[path.extname(file).toLowerCase()] ?? 'application/octet-stream';
  res.setHeader('content-type', type);
  res.setHeader('accept-ranges', 'bytes');
  const condition = req.headers['if-range'];
  const ranged = status === 200 && (condition === undefined || condition === etag);
  const range = ranged ? readRange(req.headers.range, stat.size) : undefined;
  if (range === 'unsatisfiable') {
    res.writeHead(416, { 'content-range': `bytes */${String(stat.size)}` }).end();
    return;
  }
  const { start, end } = range ?? { start: 0, end: stat.size - 1 };
  res.setHeader('content-length', end - start + 1);
  if (range) {
    const ofWhole = `${String(start)}-${String(end)}/${String(stat.size)}`;
    res.setHeader('content-range', `bytes ${ofWhole}`);
  }
  res.writeHead(range ? 206 : status);
  if (req.method === 'HEAD' || stat.size === 0) {
    res.end();
    return;
  }
  pipeline(fs.createReadStream(file, { start, end }), res, () => {
    // The client left, or the file was removed; in either case pipeline closes the connection.
  });
}

async function answer(root: string, req: IncomingMessage, res: ServerResponse): Promise<void> {
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    res.setHeader('allow', 'GET, HEAD');
    sendText(res, 405, 'Method Not Allowed');
    return;
  }
  const target = req.url ?? '/';
  const name = readPath(target);
  if (name === undefined) {
    sendText(res, 400, 'Bad Request');
    return;
  }
  const found = isHidden(name) ? undefined : await find(root, name);
  if (found === 'folder') {
    const query = target.includes('?') ? target.slice(target.indexOf('?')) : '';
    res.setHeader('location', `${encodeURI(name)}/${query}`);
    sendText(res, 301, 'Moved Permanently');
    return;
  }
  if (found) {
    sendFile(req, res, found, 200);
    return;
  }
  const custom = await regularFile(root, '404.html');
  if (custom) {
    sendFile(req, res, custom, 404);
    return;
  }
  const isPage = path.extname(name) === '' && (req.headers.accept ?? '').includes('text/html');
  const index = isPage && !isHidden(name) ? await regularFile(root, 'index.html') : undefined;
  if (index) sendFile(req, res, index, 200);
  else sendText(res, 404, 'Not Found');
}

async function find(root: string, name: string): Promise<Found | 'folder' | undefined> {
  if (name.endsWith('/')) return regularFile(root, `${name}index.html`);
  const exact = await statFile(root, name);
  if (exact?.stat.isFile()) return exact;
  const page = await regularFile(root, `${name}.html`);
  if (page) return page;
  if (!exact?.stat.isDirectory()) return undefined;
  return (await regularFile(root, `${name}/index.html`)) ? 'folder' : undefined;
}

function main(): void {
  const folder = process.argv[2];
  const port = Number(process.env['PORT']);
  if (folder === undefined || !Number.isInteger(port)) {
    throw new Error('Cannot serve files: usage is PORT=<port> node main.ts <folder>');
  }
  const root = fs.realpathSync(folder);
  const server = http.createServer((req, res) => {
    answer(root, req, res).catch((error: unknown) => {
      console.error(error);
      if (res.headersSent) res.destroy();
      else sendText(res, 500, 'Internal Server Error');
    });
  });
  // Longer than the edge's own time, so that the edge ends an idle connection.
  server.keepAliveTimeout = 75_000;
  server.listen(port, process.env['HOST'] ?? '127.0.0.1', () =>
    console.log(`Serving files on port ${String(port)}`),
  );
  process.once('SIGTERM', () => {
    server.close();
    server.closeIdleConnections();
  });
}

main();
