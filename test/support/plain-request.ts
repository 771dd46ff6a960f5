/** A request with the given headers and no others, which fetch would add or refuse to send. */
import { request, type OutgoingHttpHeaders } from 'node:http';

export interface PlainAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

export interface PlainRequest {
  port: number;
  method?: string;
  path: string;
  headers?: OutgoingHttpHeaders;
  body?: string;
}

/** Asks 127.0.0.1. */
export function plainRequest(asked: PlainRequest): Promise<PlainAnswer> {
  const { port, method = 'GET', path, headers = {}, body = '' } = asked;
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method, path, agent: false } as const;
    const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const asking = request({ ...options, headers: { ...headers, ...length } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (more: string) => {
        text += more;
      });
      response.once('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
    });
    asking.once('error', reject);
    asking.end(body);
  });
}
