/** A gateway on a free port of this machine, for tests that speak to real sockets. */
import type { Route } from '../../src/gateway/transport.ts';
import { Gateway, type GatewayOptions } from '../../src/gateway/server.ts';
import { recordingLogger, type LogRecord } from './silent-logger.ts';

export interface TestGateway {
  gateway: Gateway;
  port: number;
  /** `http://127.0.0.1:<port>` */
  url: string;
  records: LogRecord[];
  close(): Promise<void>;
}

export async function startGateway(
  routes: readonly Route[],
  options: Partial<Omit<GatewayOptions, 'routes'>> = {},
): Promise<TestGateway> {
  const logger = recordingLogger();
  const gateway = new Gateway({
    host: '127.0.0.1',
    port: 0,
    logger,
    setVariable(name, value) {
      process.env[name] = value;
    },
    ...options,
    routes,
    limits: { drainMs: 500, ...options.limits },
  });
  const { port } = await gateway.listen();
  return {
    gateway,
    port,
    url: `http://127.0.0.1:${port}`,
    records: logger.records,
    close: () => gateway.close(),
  };
}
