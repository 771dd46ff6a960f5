/**
 * Owns the session that BuildKit asks for logins during a build (moby.filesync.v1.Auth, gRPC on a
 * connection of the daemon's API). It names the registry each time, so a login goes to its own alone.
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
import { type BuildSession, dial } from './buildkit.ts';

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
