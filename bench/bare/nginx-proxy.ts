/**
 * nginx as Debian packs it, with one worker and kept connections, in front of one app. Arguments: the port of the app, a
 * folder of its own.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answers, freePort } from '../gangway.ts';

const [app = '', dir = ''] = process.argv.slice(2);
const port = await freePort();
const config = join(dir, 'nginx.conf');
const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
writeFileSync(
  config,
  `daemon off; master_process off; pid ${join(dir, 'pid')}; error_log stderr;
events { worker_connections 4096; }
http {
  access_log off; keepalive_requests 1000000000;
  ${temporary.map((name) => `${name}_temp_path ${join(dir, name)};`).join(' ')}
  upstream app { server 127.0.0.1:${app}; keepalive 64; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr;
    }
  }
}
`,
);
const nginx = spawn('nginx', ['-p', dir, '-c', config], { stdio: ['ignore', 'ignore', 'inherit'] });
nginx.on('exit', (code) => process.exit(code ?? 1));
process.on('SIGTERM', () => nginx.kill('SIGTERM'));
while (!(await answers(`http://127.0.0.1:${port}`)))
  await new Promise((resolve) => setTimeout(resolve, 10));
console.log(JSON.stringify({ port }));
