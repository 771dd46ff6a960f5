/** Messages to MCP by bytes: what no client would send, in pieces no client would make. */
import { RawClient, type RawAnswer } from './raw-http.ts';

export interface RawPlace {
  port: number;
  token: string;
}

/** A head with the token; `fields` are whole lines besides, such as `Content-Length: 2`. */
export function headOf({ port, token }: RawPlace, ...fields: string[]): string {
  const lines = [
    'POST /api/mcp HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    ...fields,
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** The answer to what is written, or null when the connection ends without one. */
export async function answerTo(
  { port }: RawPlace,
  bytes: string | Uint8Array,
): Promise<RawAnswer | null> {
  const client = new RawClient(port);
  try {
    client.write(bytes);
    await client.until(() => client.received !== '' || client.ended !== undefined);
    return client.received === '' ? null : await client.answer();
  } finally {
    client.destroy();
  }
}
