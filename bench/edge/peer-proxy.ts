/**
 * A proxy as Debian packs it, with one thread that serves and kept connections, in front of one app. Arguments: its
 * name, the port of the app, a folder of its own, and that of a certificate for `localhost`.
 */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answers, freePort } from '../gangway.ts';

const [name = '', app = '', dir = '', certificateDir = ''] = process.argv.slice(2);
const [port, tlsPort] = [await freePort(), await freePort()];
const config = join(dir, `${name}.conf`);
const [certificate, key] = [join(certificateDir, 'cert.pem'), join(certificateDir, 'key.pem')];
const both = join(dir, 'both.pem');

interface Peer {
  config: string;
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
}

const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
const proxyPass = `proxy_pass http://app; proxy_http_version 1.1;
      proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr;`;
const caddyPass = `bind 127.0.0.1
  reverse_proxy 127.0.0.1:${app} {
    transport http {
      keepalive_idle_conns_per_host 2048
    }
  }`;
const peers: Readonly<Record<string, Peer>> = {
  nginx: {
    args: ['-p', dir, '-c', config],
    config: `daemon off; master_process off; pid ${join(dir, 'pid')}; error_log stderr;
events { worker_connections 8192; }
http {
  access_log off; keepalive_requests 1000000000;
  client_max_body_size 0; proxy_request_buffering off;
  ${temporary.map((folder) => `${folder}_temp_path ${join(dir, folder)};`).join(' ')}
  upstream app { server 127.0.0.1:${app}; keepalive 2048; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port};
    listen 127.0.0.1:${tlsPort} ssl http2;
    ssl_certificate ${certificate}; ssl_certificate_key ${key};
    location / { ${proxyPass} proxy_set_header Connection ""; }
    location /echo {
      ${proxyPass} proxy_set_header Connection upgrade; proxy_set_header Upgrade $http_upgrade;
    }
  }
}
`,
  },
  haproxy: {
    args: ['-db', '-f', config],
    config: `global
  nbthread 1
  maxconn 8192
defaults
  mode http
  option forwardfor
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout tunnel 60s
frontend edge
  bind 127.0.0.1:${port}
  bind 127.0.0.1:${tlsPort} ssl crt ${both} alpn h2,http/1.1
  default_backend app
backend app
  http-reuse always
  server app 127.0.0.1:${app}
`,
  },
  caddy: {
    args: ['run', '--adapter', 'caddyfile', '--config', config],
    env: { GOMAXPROCS: '1', HOME: dir },
    config: `{
  admin off
  auto_https off
  servers {
    protocols h1 h2
  }
}
http://127.0.0.1:${port} {
  ${caddyPass}
}
https://localhost:${tlsPort} {
  tls ${certificate} ${key}
  ${caddyPass}
}
`,
  },
};

const peer = peers[name];
if (peer === undefined) throw new Error(`There is no proxy ${name}.`);
writeFileSync(config, peer.config);
writeFileSync(both, Buffer.concat([certificate, key].map((file) => readFileSync(file))));
const env = { ...process.env, ...peer.env };
const proxy = spawn(name, peer.args, { env, stdio: ['ignore', 'ignore', 'ignore'] });
proxy.on('exit', (code) => process.exit(code ?? 1));
process.on('SIGTERM', () => proxy.kill('SIGTERM'));
while (!(await answers(`http://127.0.0.1:${port}/small`)))
  await new Promise((resolve) => setTimeout(resolve, 10));
console.log(JSON.stringify({ port, tlsPort, pid: proxy.pid, besides: [] }));
