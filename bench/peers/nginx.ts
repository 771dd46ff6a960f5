/**
 * nginx as Debian packs it, which takes a PUT into a file of that name: no hash, no check, no fsync.
 * Arguments: a folder of its own; the files go to `files` in it.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';

const [dir = ''] = process.argv.slice(2);
const port = await freePort();
for (const name of ['files', 'temp']) mkdirSync(join(dir, name), { recursive: true });
const config = join(dir, 'nginx.conf');
writeFileSync(config, configOf(dir, port));
const nginx = spawn('nginx', ['-p', dir, '-c', config, '-e', 'stderr'], {
  stdio: ['ignore', 'inherit', 'inherit'],
});
nginx.on('error', (error) => {
  throw new Error('nginx cannot be started', { cause: error });
});
nginx.on('exit', (code) => process.exit(code ?? 1));
process.on('SIGTERM', () => nginx.kill('SIGTERM'));
while (!(await listens(port))) await new Promise((resolve) => setTimeout(resolve, 10));
console.log(JSON.stringify({ port }));

/** It cannot be told to pick a port. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  server.close();
  return address.port;
}

async function listens(on: number): Promise<boolean> {
  const socket = connect(on, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    // It has not started yet; where it never will, its end ends this process.
    return false;
  } finally {
    socket.destroy();
  }
}

function configOf(folder: string, on: number): string {
  const temp = join(folder, 'temp');
  // Workers of a root's nginx would be somebody who may not enter the folder.
  const user = process.getuid?.() === 0 ? `user ${userInfo().username} root;` : '';
  return `
daemon off;
${user}
worker_processes auto;
pid ${join(folder, 'nginx.pid')};
error_log stderr;
events { worker_connections 256; }
http {
  access_log off;
  client_max_body_size 0;
  client_body_buffer_size 256k;
  client_body_temp_path ${temp};
  proxy_temp_path ${temp};
  fastcgi_temp_path ${temp};
  uwsgi_temp_path ${temp};
  scgi_temp_path ${temp};
  server {
    listen 127.0.0.1:${on};
    root ${join(folder, 'files')};
    location / { dav_methods PUT; }
  }
}
`;
}
