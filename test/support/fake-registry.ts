/**
 * An image registry on loopback, which daemons speak to without TLS: one image of one layer, with or
 * without a login. Enough of the distribution protocol for a pull.
 */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';

const manifestType = 'application/vnd.docker.distribution.manifest.v2+json';

export interface ServedImage {
  /** Such as `team/web`. */
  repository: string;
  tag: string;
  /** Uncompressed. */
  layer: Buffer;
  /** `Cmd`, `ExposedPorts`, … */
  config: object;
}

export class FakeRegistry {
  /** Requests with the right login, or all where none is needed. */
  admitted = 0;
  refused = 0;
  readonly #server: Server;
  readonly #login: string | null;
  readonly #blobs = new Map<string, Buffer>();
  /** By `<repository>:<tag>` and `<repository>@<digest>`. */
  readonly #manifests = new Map<string, Buffer>();

  private constructor(login: { username: string; password: string } | null) {
    const { username = '', password = '' } = login ?? {};
    const text = Buffer.from(`${username}:${password}`).toString('base64');
    this.#login = login === null ? null : `Basic ${text}`;
    this.#server = createServer((request, response) => {
      this.#answer(request, response);
    });
  }

  static async open(login: { username: string; password: string } | null): Promise<FakeRegistry> {
    const registry = new FakeRegistry(login);
    await new Promise<void>((resolve) => registry.#server.listen(0, '127.0.0.1', resolve));
    return registry;
  }

  /** Such as `127.0.0.1:40001`. */
  get host(): string {
    const address = this.#server.address();
    return `127.0.0.1:${String(typeof address === 'object' && address !== null ? address.port : 0)}`;
  }

  /** Replaces the image of the tag; its digest. */
  serve({ repository, tag, layer, config }: ServedImage): string {
    const packed = gzipSync(layer);
    const description = Buffer.from(
      JSON.stringify({
        architecture: process.arch === 'x64' ? 'amd64' : process.arch,
        os: 'linux',
        config,
        rootfs: { type: 'layers', diff_ids: [digestOf(layer)] },
      }),
    );
    for (const blob of [packed, description]) this.#blobs.set(digestOf(blob), blob);
    const manifest = Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        mediaType: manifestType,
        config: partOf('application/vnd.docker.container.image.v1+json', description),
        layers: [partOf('application/vnd.docker.image.rootfs.diff.tar.gzip', packed)],
      }),
    );
    this.#manifests.set(`${repository}:${tag}`, manifest);
    this.#manifests.set(`${repository}@${digestOf(manifest)}`, manifest);
    return digestOf(manifest);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    if (this.#login !== null && request.headers.authorization !== this.#login) {
      this.refused += 1;
      response.writeHead(401, { 'www-authenticate': 'Basic realm="registry"' });
      response.end(errors('UNAUTHORIZED'));
      return;
    }
    this.admitted += 1;
    const path = (request.url ?? '').split('?')[0] ?? '';
    if (path === '/v2/') {
      response.end('{}');
      return;
    }
    const [, repository = '', kind, reference = ''] =
      /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(path) ?? [];
    const mark = reference.startsWith('sha256:') ? '@' : ':';
    const found =
      kind === 'blobs'
        ? this.#blobs.get(reference)
        : this.#manifests.get(`${repository}${mark}${reference}`);
    if (found === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end(errors(kind === 'blobs' ? 'BLOB_UNKNOWN' : 'MANIFEST_UNKNOWN'));
      return;
    }
    response.writeHead(200, {
      'content-type': kind === 'blobs' ? 'application/octet-stream' : manifestType,
      'content-length': found.length,
      'docker-content-digest': digestOf(found),
    });
    response.end(request.method === 'HEAD' ? undefined : found);
  }
}

function partOf(mediaType: string, bytes: Buffer): object {
  return { mediaType, size: bytes.length, digest: digestOf(bytes) };
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

function errors(code: string): string {
  return JSON.stringify({ errors: [{ code, message: code.toLowerCase() }] });
}
