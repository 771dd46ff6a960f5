/**
 * A bucket in memory that speaks as much of S3 as destinations of backups use, and can be made to fail: by
 * status, by silence, or by a lie. It looks at no signature.
 */
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AddressPolicy } from '../../src/lib/address-policy.ts';
import { GuardedFetch } from '../../src/lib/guarded-fetch.ts';
import type { S3Place } from '../../src/backups/destinations/destination.ts';

export interface BucketCall {
  method: string;
  /** Without the bucket. */
  key: string;
  query: URLSearchParams;
  body: Buffer;
}

/**
 * What a call gets instead of its answer. `half`: half of the body and the end of the connection, `stall`: without
 * that end; `more`: a byte behind the last; `lost`: what was asked is done, and the connection ends.
 */
export type BucketFault =
  | { status: number; code?: string; headers?: Record<string, string> }
  | 'silence'
  | 'half'
  | 'stall'
  | 'more'
  | 'lost'
  | { text: string };

export class BucketServer {
  readonly objects = new Map<string, Buffer>();
  readonly uploads = new Map<string, { key: string; parts: Map<number, Buffer> }>();
  readonly calls: string[] = [];
  /** The newest call's `authorization`. */
  authorization = '';
  /** Asked for each call; undefined: it is answered rightly. */
  fault: (call: BucketCall) => BucketFault | undefined = () => undefined;
  /** What is stored instead of the body. */
  stored: (body: Buffer) => Buffer = (body) => body;
  uploadsAPage = 1000;
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  static async start(): Promise<BucketServer> {
    const bucket = new BucketServer();
    await new Promise<void>((resolve) => bucket.#server.listen(0, '127.0.0.1', resolve));
    return bucket;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get place(): S3Place {
    return placeIn(this.port);
  }

  /** Names of all that is there, finished or not. */
  names(): string[] {
    const begun = [...this.uploads.values()].map(({ key }) => `${key} (unfinished)`);
    return [...this.objects.keys(), ...begun].sort();
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://bucket');
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const [, , ...names] = url.pathname.split('/');
    const call = {
      method: request.method ?? '',
      key: names.join('/'),
      query: url.searchParams,
      body: Buffer.concat(parts),
    };
    this.calls.push(`${call.method} ${call.key}${url.search}`);
    this.authorization = request.headers.authorization ?? '';
    const digest = createHash('md5').update(call.body).digest('base64');
    if (call.body.length > 0 && request.headers['content-md5'] !== digest) {
      fail(response, 400, 'BadDigest');
      return;
    }
    const fault = this.fault(call);
    if (fault === 'silence') return;
    const { range } = request.headers;
    if (fault === 'half') this.#half(call, range, response, () => response.destroy());
    else if (fault === 'more') this.#more(call, range, response);
    else if (fault === 'stall') this.#half(call, range, response, () => undefined);
    else if (fault === 'lost') {
      this.#handle(call, request, undefined);
      response.destroy();
    } else if (fault === undefined) this.#handle(call, request, response);
    else if ('text' in fault) response.writeHead(200).end(fault.text);
    else fail(response, fault.status, fault.code, fault.headers);
  }

  #half(
    { key }: BucketCall,
    range: string | undefined,
    response: ServerResponse,
    then: () => void,
  ): void {
    const object = this.objects.get(key) ?? Buffer.alloc(0);
    const { body, headers } = pieceOf(object, range);
    response.writeHead(206, headers);
    response.write(body.subarray(0, body.length / 2), then);
  }

  #more({ key }: BucketCall, range: string | undefined, response: ServerResponse): void {
    const { body, headers } = pieceOf(this.objects.get(key) ?? Buffer.alloc(0), range);
    response.writeHead(206, { 'content-range': headers['content-range'] });
    response.end(Buffer.concat([body, Buffer.alloc(1)]));
  }

  #handle(call: BucketCall, request: IncomingMessage, response?: ServerResponse): void {
    const { method, query } = call;
    if (method === 'PUT') this.#put(call, response);
    else if (method === 'POST' && query.has('uploads')) this.#begin(call, response);
    else if (method === 'POST') this.#complete(call, response);
    else if (method === 'DELETE') this.#remove(call, response);
    else if (query.has('uploads')) this.#list(call, response);
    else this.#get(call, request.headers.range, response);
  }

  #put({ key, query, body }: BucketCall, response?: ServerResponse): void {
    const etag = `"${createHash('md5').update(body).digest('hex')}"`;
    const uploadId = query.get('uploadId');
    if (uploadId === null) this.objects.set(key, this.stored(body));
    else {
      const upload = this.uploads.get(uploadId);
      if (upload?.key !== key) {
        fail(response, 404, 'NoSuchUpload');
        return;
      }
      upload.parts.set(Number(query.get('partNumber')), this.stored(body));
    }
    response?.writeHead(200, { etag }).end();
  }

  #begin({ key }: BucketCall, response?: ServerResponse): void {
    const uploadId = `${randomUUID()}&"+/=`;
    this.uploads.set(uploadId, { key, parts: new Map() });
    response?.end(
      `<InitiateMultipartUploadResult><UploadId>${escaped(uploadId)}</UploadId></InitiateMultipartUploadResult>`,
    );
  }

  #complete({ key, query, body }: BucketCall, response?: ServerResponse): void {
    const uploadId = query.get('uploadId') ?? '';
    const upload = this.uploads.get(uploadId);
    if (upload?.key !== key) {
      fail(response, 404, 'NoSuchUpload');
      return;
    }
    const numbers = [...body.toString().matchAll(/<PartNumber>(\d+)</g)].map((one) =>
      Number(one[1]),
    );
    const parts = numbers.map((number) => upload.parts.get(number) ?? Buffer.alloc(0));
    const sizes = new Set(parts.slice(0, -1).map(({ length }) => length));
    if (sizes.size > 1) {
      fail(response, 400, 'InvalidPart');
      return;
    }
    this.uploads.delete(uploadId);
    this.objects.set(key, Buffer.concat(parts));
    response?.end('<CompleteMultipartUploadResult></CompleteMultipartUploadResult>');
  }

  #remove({ key, query }: BucketCall, response?: ServerResponse): void {
    const uploadId = query.get('uploadId');
    if (uploadId === null) this.objects.delete(key);
    else if (!this.uploads.delete(uploadId)) {
      fail(response, 404, 'NoSuchUpload');
      return;
    }
    response?.writeHead(204).end();
  }

  #list({ query }: BucketCall, response?: ServerResponse): void {
    const prefix = query.get('prefix') ?? '';
    const after = query.get('upload-id-marker') ?? '';
    const all = [...this.uploads].filter(([, { key }]) => key.startsWith(prefix)).sort(byId);
    const rest = all.filter(([id]) => id > after);
    const page = rest.slice(0, this.uploadsAPage);
    const [lastId = '', last] = page.at(-1) ?? [];
    const listed = page.map(
      ([id, { key }]) => `<Upload><Key>${key}</Key><UploadId>${escaped(id)}</UploadId></Upload>`,
    );
    const next =
      `<NextKeyMarker>${last?.key ?? ''}</NextKeyMarker>` +
      `<NextUploadIdMarker>${escaped(lastId)}</NextUploadIdMarker>`;
    const isMore = String(rest.length > page.length);
    response?.end(
      `<ListMultipartUploadsResult>${next}<IsTruncated>${isMore}</IsTruncated>${listed.join('')}</ListMultipartUploadsResult>`,
    );
  }

  #get({ method, key }: BucketCall, range: string | undefined, response?: ServerResponse): void {
    const object = this.objects.get(key);
    if (object === undefined) {
      fail(response, 404, method === 'HEAD' ? undefined : 'NoSuchKey');
      return;
    }
    const { body, headers } = pieceOf(object, range);
    response?.writeHead(range === undefined ? 200 : 206, headers);
    response?.end(method === 'HEAD' ? undefined : body);
  }
}

function pieceOf(
  object: Buffer,
  range: string | undefined,
): { body: Buffer; headers: Record<string, string> } {
  const [, start = '0', end = ''] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? [];
  const from = Number(start);
  const to = end === '' ? object.length - 1 : Number(end);
  const body = object.subarray(from, to + 1);
  const said = `bytes ${String(from)}-${String(to)}/${String(object.length)}`;
  const length = { 'content-length': String(body.length) };
  return { body, headers: range === undefined ? length : { ...length, 'content-range': said } };
}

/** A way to buckets on loopback. */
export const loopbackFetch = new GuardedFetch({
  policy: new AddressPolicy({ privateNetworks: ['127.0.0.0/8'] }),
});

export function placeIn(port: number): S3Place {
  const endpoint = `http://127.0.0.1:${String(port)}`;
  const where = { endpoint, bucket: 'backups', region: 'us-east-1', prefix: 'team/dst_1/' };
  return { kind: 's3', ...where, accessKey: 'S3RVER', secretKey: 'S3RVER' };
}

function byId([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : 1;
}

function fail(
  response: ServerResponse | undefined,
  status: number,
  code?: string,
  headers: Record<string, string> = {},
): void {
  const text = code === undefined ? '' : `<?xml version="1.0"?><Error><Code>${code}</Code></Error>`;
  response?.writeHead(status, { 'content-length': String(text.length), ...headers }).end(text);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
}
