/** Owns requests as bytes, ready to be written to a socket as often as wanted, and one exchange. */
import { connect } from 'node:net';
import { AnswerReader, type HttpAnswer } from './answers.ts';

export interface RequestParts {
  path: string;
  method?: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
}

export function requestBytes({
  path,
  method = 'GET',
  headers = {},
  body = '',
}: RequestParts): Buffer {
  const length = Buffer.byteLength(body);
  const isNamed = Object.keys(headers).some((name) => name.toLowerCase() === 'host');
  const head = [
    `${method} ${path} HTTP/1.1`,
    ...(isNamed ? [] : ['Host: 127.0.0.1']),
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(length > 0 ? [`Content-Length: ${length}`] : []),
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

const answerMs = 60_000;

/** Sends a request on a connection of its own and reads the answer; rejects where none comes. */
export async function ask(port: number, parts: RequestParts): Promise<HttpAnswer> {
  const socket = connect(port, '127.0.0.1').setTimeout(answerMs);
  const reader = new AnswerReader();
  try {
    return await new Promise((resolve, reject) => {
      socket.on('data', (chunk) => {
        try {
          for (const answer of reader.push(chunk)) resolve(answer);
        } catch (error) {
          reject(new Error('no HTTP answer came', { cause: error }));
        }
      });
      socket.on('error', reject);
      socket.on('timeout', () => {
        reject(new Error(`${parts.path}: no answer came within ${answerMs} ms`));
      });
      socket.on('close', () => {
        reject(new Error(`${parts.path}: the connection was closed without an answer`));
      });
      socket.write(requestBytes(parts));
    });
  } finally {
    socket.destroy();
  }
}
