/**
 * Owns BuildKit's side of a build: the session in which it asks for logins (moby.filesync.v1.Auth, gRPC
 * on a connection of the daemon's API), the request, and what it tells of its progress
 * (moby.buildkit.v1.StatusResponse, protocol buffers in base64). It names the registry each time it asks,
 * so a login goes to its own alone.
 */
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import type { Duplex } from 'node:stream';

import type {
  GrpcObject,
  sendUnaryData,
  ServerUnaryCall,
  ServiceClientConstructor,
} from '@grpc/grpc-js';
import type Dockerode from 'dockerode';

import type { RegistryLogin } from '../../driver.ts';

export const traceId = 'moby.buildkit.trace';

interface BuildSession {
  id: string;
  close: () => void;
}

interface Modem {
  dial(request: object, done: (error: Error | null, answer: unknown) => void): void;
}

/** What dockerode has no method for. */
function dial<Answer>(docker: Dockerode, request: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    (docker.modem as Modem).dial(request, (error, answer) => {
      if (error) reject(error);
      else resolve(answer as Answer);
    });
  });
}

/** `grpc.health.v1.Health`, which BuildKit asks all the while: it ends a session that does not say SERVING. */
const serving = Buffer.of(8, 1);
const asIs = (bytes: Buffer): Buffer => bytes;
const health = {
  Check: {
    path: '/grpc.health.v1.Health/Check',
    requestStream: false,
    responseStream: false,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  },
} as const;

type LoginOf = (host: string) => RegistryLogin | undefined;
type Call = ServerUnaryCall<{ Host: string }, Credentials>;

interface Credentials {
  Username?: string;
  Secret?: string;
}

export async function openSession(docker: Dockerode, loginOf: LoginOf): Promise<BuildSession> {
  const [grpc, loader] = await Promise.all([import('@grpc/grpc-js'), import('@grpc/proto-loader')]);
  const file = createRequire(import.meta.url).resolve('dockerode/lib/proto/auth.proto');
  const definition = grpc.loadPackageDefinition(await loader.load(file));
  const id = randomUUID();
  const socket = await dial<Duplex>(docker, {
    method: 'POST',
    path: '/session',
    hijack: true,
    headers: {
      Upgrade: 'h2c',
      'X-Docker-Expose-Session-Uuid': id,
      'X-Docker-Expose-Session-Name': 'gangway',
    },
    statusCodes: { 200: true, 500: 'server error' },
  });
  const server = new grpc.Server();
  server.addService(authIn(definition).service, {
    Credentials: ({ request }: Call, answer: sendUnaryData<Credentials>) => {
      const login = loginOf(request.Host);
      answer(null, login ? { Username: login.username, Secret: login.password } : {});
    },
  });
  server.addService(health, {
    Check: (_call: unknown, answer: sendUnaryData<Buffer>) => answer(null, serving),
  });
  server.createConnectionInjector(grpc.ServerCredentials.createInsecure()).injectConnection(socket);
  return {
    id,
    close: () => {
      server.forceShutdown();
      socket.end();
    },
  };
}

function authIn(definition: GrpcObject): ServiceClientConstructor {
  const { moby } = definition as { moby: { filesync: { v1: { Auth: ServiceClientConstructor } } } };
  return moby.filesync.v1.Auth;
}

/** The session lives as long as the answer. */
export async function buildWithBuildKit(
  docker: Dockerode,
  session: BuildSession,
  context: NodeJS.ReadableStream,
  options: Pick<Dockerode.ImageBuildOptions, 't' | 'dockerfile' | 'buildargs' | 'target'>,
  abortSignal: AbortSignal,
): Promise<NodeJS.ReadableStream> {
  try {
    const answer = await dial<NodeJS.ReadableStream>(docker, {
      path: '/build?',
      method: 'POST',
      file: context,
      options: { ...options, version: '2', session: session.id },
      abortSignal,
      isStream: true,
      statusCodes: { 200: true, 400: 'bad parameter', 500: 'server error' },
    });
    answer.once('close', session.close);
    return answer;
  } catch (error) {
    session.close();
    throw error;
  }
}

type Fields = Map<number, (Buffer | bigint)[]>;

/** The fields of one message, by number. Throws RangeError on what is none. */
function fieldsOf(bytes: Buffer): Fields {
  const fields: Fields = new Map();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
      if (shift > 63n) throw new RangeError('Cannot read the progress of a build: no number ends');
    }
  };
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) {
      throw new RangeError('Cannot read the progress of a build: cut short');
    }
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const key = Number(varint());
    const wire = key & 7;
    const number = key >>> 3;
    const value = wire === 0 ? varint() : take(wire === 1 ? 8 : wire === 5 ? 4 : Number(varint()));
    fields.set(number, [...(fields.get(number) ?? []), value]);
  }
  return fields;
}

function textAt(fields: Fields, number: number): string {
  const value = fields.get(number)?.at(-1);
  return Buffer.isBuffer(value) ? value.toString() : '';
}

function messagesAt(fields: Fields, number: number): Fields[] {
  return (fields.get(number) ?? []).flatMap((value) =>
    Buffer.isBuffer(value) ? [fieldsOf(value)] : [],
  );
}

/** Turns what BuildKit tells into text: a line for each step as it begins, then what it prints. */
export class BuildKitTrace {
  readonly #begun = new Set<string>();
  /** The last line of each step that is not whole yet. */
  readonly #rests = new Map<string, string>();

  push(base64: string): string[] {
    const status = fieldsOf(Buffer.from(base64, 'base64'));
    return [
      ...messagesAt(status, 1).flatMap((vertex) => this.#step(vertex)),
      ...messagesAt(status, 3).flatMap((log) => this.#print(log)),
    ];
  }

  end(): string[] {
    const rests = [...this.#rests.values()].filter((rest) => rest !== '');
    this.#rests.clear();
    return rests;
  }

  #step(vertex: Fields): string[] {
    const digest = textAt(vertex, 1);
    const isCached = vertex.get(4)?.at(-1) === 1n;
    if (this.#begun.has(digest) || (!vertex.has(5) && !isCached)) return [];
    this.#begun.add(digest);
    const name = textAt(vertex, 3);
    // Of its own doing, such as sending files from here to there, it tells nothing of use.
    return name.startsWith('[') && !name.startsWith('[internal]')
      ? [isCached ? `${name} (cached)` : name]
      : [];
  }

  #print(log: Fields): string[] {
    const step = textAt(log, 1);
    const lines = ((this.#rests.get(step) ?? '') + textAt(log, 4)).split('\n');
    this.#rests.set(step, lines.pop() ?? '');
    return lines;
  }
}
