/**
 * Owns a short talk with a Redis server (RESP 2): a password, some commands, their one-line answers.
 *
 * 1. It ends: by the answers, an error, the time, or `signal`.
 */
import { connect } from 'node:net';
import { ServerRefusal } from './engine.ts';

export interface RedisPlace {
  host: string;
  port: number;
  password: string;
}

const timeoutMs = 5000;
const answerMaxBytes = 16 * 1024;

/** Rejects with what Redis said, or with the error of the connection. */
export function talkToRedis(
  { host, port, password }: RedisPlace,
  commands: readonly (readonly string[])[],
  signal: AbortSignal,
): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    let text = '';
    const end = (settle: () => void): void => {
      socket.destroy();
      settle();
    };
    socket.setEncoding('latin1');
    socket.once('connect', () =>
      socket.write([['AUTH', password], ...commands].map(encoded).join('')),
    );
    socket.on('data', (chunk: string) => {
      text += chunk;
      const lines = text.split('\r\n').slice(0, -1);
      const refused = lines.findIndex((line) => line.startsWith('-'));
      if (refused !== -1)
        end(() => reject(new RedisRefusal(lines[refused]?.slice(1, 200) ?? '', refused > 0)));
      else if (lines.length > commands.length) end(() => resolve(lines.slice(1)));
      else if (text.length > answerMaxBytes)
        end(() => reject(new RedisRefusal('it is no Redis', false)));
    });
    socket.once('error', (error) => end(() => reject(error)));
    socket.once('close', () => reject(new Error('the connection was closed')));
  });
}

/** What Redis says instead of doing it, such as `LOADING …`. */
export class RedisRefusal extends ServerRefusal {
  override readonly name = 'RedisRefusal';
  /** Whether the password was right. */
  readonly signedIn: boolean;

  constructor(message: string, signedIn: boolean) {
    super(message);
    this.signedIn = signedIn;
  }
}

function encoded(words: readonly string[]): string {
  const parts = words.map((word) => `$${String(Buffer.byteLength(word))}\r\n${word}\r\n`);
  return `*${String(words.length)}\r\n${parts.join('')}`;
}
