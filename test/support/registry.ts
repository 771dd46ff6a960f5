/**
 * Owns a registry for tests: version 2 of the distribution API, read side, with one small image that
 * wants a login. On loopback a daemon asks without TLS.
 */
import { createHash } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

import { tar } from './archives.ts';

export interface TestRegistry {
  host: string;
  /** Paths that were asked for with a login, and all. */
  asked: string[];
  /** One more image, or another one behind the same tag. */
  serve(image: RegistryImage): void;
  close(): Promise<void>;
}

export interface RegistryImage {
  /** Such as `team/app`. */
  repository: string;
  tag: string;
  files: Readonly<Record<string, Buffer>>;
  config: object;
  /** Null: for all. */
  login: { username: string; password: string } | null;
}

interface Blob {
  type: string;
  bytes: Buffer;
}

const types = {
  manifest: 'application/vnd.docker.distribution.manifest.v2+json',
  config: 'application/vnd.docker.container.image.v1+json',
  layer: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
};

export async function startRegistry(image: RegistryImage): Promise<TestRegistry> {
  const blobs = blobsOf(image);
  const asked: string[] = [];
  const wanted =
    image.login &&
    `Basic ${Buffer.from(`${image.login.username}:${image.login.password}`).toString('base64')}`;
  const server = http.createServer((req, res) => {
    asked.push(req.url ?? '');
    if (wanted !== null && req.headers.authorization !== wanted) {
      res.writeHead(401, { 'www-authenticate': 'Basic realm="test"' });
      res.end(JSON.stringify({ errors: [{ code: 'UNAUTHORIZED', message: 'log in first' }] }));
      return;
    }
    const url = req.url ?? '';
    const blob = url === '/v2/' ? undefined : blobs.get(url);
    if (url !== '/v2/' && !blob) {
      res.writeHead(404, { 'content-type': 'application/json' });
      res.end(
        JSON.stringify({ errors: [{ code: 'MANIFEST_UNKNOWN', message: 'manifest unknown' }] }),
      );
      return;
    }
    const { type, bytes } = blob ?? { type: 'application/json', bytes: Buffer.from('{}') };
    res.writeHead(200, {
      'content-type': type,
      'content-length': bytes.length,
      'docker-content-digest': digestOf(bytes),
      'docker-distribution-api-version': 'registry/2.0',
    });
    res.end(req.method === 'HEAD' ? undefined : bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    host: `127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    asked,
    serve: (another) => {
      for (const [path, blob] of blobsOf(another)) blobs.set(path, blob);
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => {
          resolve();
        });
      }),
  };
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

function blobsOf({ repository, tag, files, config }: RegistryImage): Map<string, Blob> {
  const entries = Object.entries(files).map(([name, data]) => ({ name, data, mode: 0o755 }));
  const plain = tar(...entries);
  const layer = gzipSync(plain);
  const whole = Buffer.from(
    JSON.stringify({
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      os: 'linux',
      config,
      rootfs: { type: 'layers', diff_ids: [digestOf(plain)] },
      history: [{ created_by: 'test' }],
    }),
  );
  const part = (mediaType: string, bytes: Buffer): object => ({
    mediaType,
    size: bytes.length,
    digest: digestOf(bytes),
  });
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: types.manifest,
      config: part(types.config, whole),
      layers: [part(types.layer, layer)],
    }),
  );
  const at = `/v2/${repository}`;
  return new Map([
    [`${at}/manifests/${tag}`, { type: types.manifest, bytes: manifest }],
    [`${at}/manifests/${digestOf(manifest)}`, { type: types.manifest, bytes: manifest }],
    [`${at}/blobs/${digestOf(whole)}`, { type: 'application/octet-stream', bytes: whole }],
    [`${at}/blobs/${digestOf(layer)}`, { type: 'application/octet-stream', bytes: layer }],
  ]);
}
