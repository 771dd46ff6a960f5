import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { freePort } from '../../../support/ports.ts';
import { tempDir } from '../../../support/runner.ts';

const entry = fileURLToPath(new URL('../../../../src/programs/static/main.ts', import.meta.url));

interface Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  body: string;
}

class Site {
  readonly dir = tempDir();
  port = 0;
  #child: ChildProcess | undefined;

  async open(files: Record<string, string>): Promise<void> {
    for (const [name, text] of Object.entries(files)) {
      fs.mkdirSync(path.dirname(path.join(this.dir, name)), { recursive: true });
      fs.writeFileSync(path.join(this.dir, name), text);
    }
    this.port = await freePort();
    const env = { PORT: String(this.port) };
    const child = spawn(process.execPath, ['--no-warnings', entry, this.dir], { env });
    this.#child = child;
    await new Promise((resolve) => child.stdout.once('data', resolve));
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#child?.once('exit', resolve));
    this.#child?.kill();
    await ended;
    fs.rmSync(this.dir, { recursive: true });
  }

  get(target: string, headers: http.OutgoingHttpHeaders = {}, method = 'GET'): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: this.port, path: target, method, headers };
      const req = http.request(options, (res) => {
        let body = '';
        res.on('data', (chunk: Buffer) => (body += chunk.toString()));
        res.on('end', () => {
          resolve({ status: res.statusCode ?? 0, headers: res.headers, body });
        });
      });
      req.on('error', reject);
      req.end();
    });
  }
}

describe('the file server of static apps', () => {
  const site = new Site();
  const app = new Site();
  before(async () => {
    await site.open({
      'index.html': 'home',
      'about.html': 'about',
      '404.html': 'lost',
      'docs/index.html': 'docs',
      'a b/ü.txt': 'odd name',
      'app.js': 'js',
      '.env': 'secret',
      '.git/config': 'secret',
      '.well-known/acme': 'token',
      'empty.txt': '',
    });
    await app.open({ 'index.html': 'spa', 'main.js': 'js' });
    fs.symlinkSync('/etc/passwd', path.join(site.dir, 'passwd'));
    fs.symlinkSync('app.js', path.join(site.dir, 'inside.js'));
  });
  after(async () => {
    await site.close();
    await app.close();
  });

  const read = async (target: string): Promise<string> => {
    const { status, body } = await site.get(target);
    return `${String(status)} ${body}`;
  };

  it('serves files, pages without their ending, and the index of a folder', async () => {
    assert.equal(await read('/'), '200 home');
    assert.equal(await read('/about'), '200 about');
    assert.equal(await read('/app.js?v=1'), '200 js');
    assert.equal(await read('/docs/'), '200 docs');
    assert.equal(await read('/a%20b/%C3%BC.txt'), '200 odd name');
    assert.equal(await read('/.well-known/acme'), '200 token');
    assert.equal(await read('/inside.js'), '200 js');
    assert.equal(await read('/empty.txt'), '200 ');
  });

  it('redirects a folder to its slash, never to another host', async () => {
    const { status, headers } = await site.get('/docs?x=1');
    assert.deepEqual([status, headers.location], [301, '/docs/?x=1']);
    for (const target of ['//docs', '///docs', '/x/..//docs']) {
      assert.equal((await site.get(target)).headers.location, '/docs/');
    }
  });

  it('lets nobody out of the folder, nor at hidden files', async () => {
    for (const target of [
      '/../../etc/passwd',
      '/%2e%2e/%2e%2e/etc/passwd',
      '/..%2f..%2fetc/passwd',
      '/passwd',
      '/.env',
      '/.git/config',
      '/docs/../.env',
      '/%2eenv',
    ]) {
      assert.equal(await read(target), '404 lost', target);
    }
    for (const target of ['/%00', '/%zz', '/a%5c..%5cb']) {
      assert.equal((await site.get(target)).status, 400, target);
    }
  });

  it('tells types, and answers conditions and ranges', async () => {
    const { headers } = await site.get('/app.js');
    assert.equal(headers['content-type'], 'text/javascript; charset=utf-8');
    assert.equal(headers['x-content-type-options'], 'nosniff');
    const known = { 'if-none-match': headers.etag, 'if-modified-since': headers['last-modified'] };
    assert.equal((await site.get('/app.js', known)).status, 304);
    assert.equal((await site.get('/app.js', { 'if-none-match': '"other"' })).status, 200);
    const part = await site.get('/about', { range: 'bytes=1-2' });
    assert.deepEqual([part.status, part.body], [206, 'bo']);
    assert.equal(part.headers['content-range'], 'bytes 1-2/5');
    assert.equal((await site.get('/about', { range: 'bytes=-2' })).body, 'ut');
    assert.equal((await site.get('/about', { range: 'bytes=9-' })).status, 416);
    assert.equal((await site.get('/about', { range: 'bytes=1-2,4-5' })).status, 200);
  });

  it('answers HEAD without a body and refuses other methods', async () => {
    const head = await site.get('/about', {}, 'HEAD');
    assert.deepEqual([head.status, head.body, head.headers['content-length']], [200, '', '5']);
    const posted = await site.get('/about', {}, 'POST');
    assert.deepEqual([posted.status, posted.headers.allow], [405, 'GET, HEAD']);
  });

  it('gives a page its index where there is no 404.html, and a missing file a 404', async () => {
    const html = { accept: 'text/html,*/*' };
    assert.equal((await app.get('/some/route', html)).body, 'spa');
    assert.equal((await app.get('/missing.js', html)).status, 404);
    assert.equal((await app.get('/some/route', { accept: 'application/json' })).status, 404);
    assert.equal((await app.get('/.env', html)).status, 404);
  });
});
