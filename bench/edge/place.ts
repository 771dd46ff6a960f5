/**
 * Owns an app and the proxies before it: ours, and as peers those of nginx, HAProxy and Caddy that are installed, with
 * one thread each. All have one certificate for `localhost`.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench, Server } from '../harness.ts';

export interface Proxy extends Server {
  tlsPort: number;
  /** Processes that are there for it besides the one that serves. */
  besides: number[];
}

export interface Place {
  proxies: Readonly<Record<string, Proxy>> & { ours: Proxy };
  /** PEM of the certificate. */
  certificate: string;
}

const peers = ['nginx', 'haproxy', 'caddy'];

export async function openPlace(bench: Bench): Promise<Place> {
  const certificateDir = newCertificate(bench.tempDir());
  const app = await bench.startServer('bench/edge/app.ts');
  const before = (script: string, ...name: string[]): Promise<Proxy> => {
    const args = [...name, String(app.port), bench.tempDir(), certificateDir];
    return bench.startServer<Proxy>(`bench/edge/${script}.ts`, args);
  };
  const proxies: Place['proxies'] & Record<string, Proxy> = { ours: await before('edge') };
  for (const name of peers) if (isInstalled(name)) proxies[name] = await before('peer-proxy', name);
  return { proxies, certificate: readFileSync(join(certificateDir, 'cert.pem'), 'utf8') };
}

function isInstalled(program: string): boolean {
  return spawnSync(program, ['-v']).error === undefined;
}

function newCertificate(dir: string): string {
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-days', '2'];
  const named = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const out = ['-nodes', '-keyout', 'key.pem', '-out', 'cert.pem'];
  const { status } = spawnSync('openssl', ['req', '-x509', ...kind, ...named, ...out], {
    cwd: dir,
    stdio: 'ignore',
  });
  if (status !== 0) throw new Error('openssl, which makes the certificate, is not here or failed');
  return dir;
}
