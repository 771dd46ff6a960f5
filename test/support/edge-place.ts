/** Owns an edge on a port of its own, and small apps behind it, for tests. */
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import type { AddressInfo } from 'node:net';

import { Edge, type EdgeOptions } from '../../src/programs/edge/edge.ts';
import type { EdgeNews } from '../../src/protocol/edge-messages.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { freePort } from './ports.ts';
import { noLog } from './runner.ts';

export interface Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  body: string;
}

export interface App {
  port: number;
  server: http.Server;
}

async function appOf(handler: http.RequestListener): Promise<App> {
  const server = http.createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, port: (server.address() as AddressInfo).port };
}

export function closeServer(server: http.Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
  });
}

export class EdgePlace {
  readonly #apps = new Set<App>();
  readonly #agent = new http.Agent({ keepAlive: true });
  readonly #options: Partial<EdgeOptions>;
  #edge: Edge | undefined;
  /** What the edge told. */
  readonly news: EdgeNews[] = [];
  /** Where the edge is asked. */
  port = 0;
  /** The same by HTTPS, once it listens there. */
  tlsPort = 0;

  constructor(options: Partial<EdgeOptions> = {}) {
    this.#options = options;
  }

  get edge(): Edge {
    if (this.#edge === undefined) throw new Error('Cannot ask the edge: it is not open');
    return this.#edge;
  }

  async open(): Promise<this> {
    this.port = await freePort();
    await this.#make();
    return this;
  }

  async listenTls(): Promise<void> {
    this.tlsPort ||= await freePort();
    const keys = Buffer.alloc(48, 7).toString('base64');
    await this.edge.listenTls({ host: '127.0.0.1', port: this.tlsPort }, keys);
  }

  /** Another edge, with no routes. */
  async reopen(): Promise<void> {
    this.edge.close();
    await this.#make();
  }

  async close(): Promise<void> {
    this.edge.close();
    this.#agent.destroy();
    for (const { server } of this.#apps) await closeServer(server);
  }

  async app(handler: http.RequestListener): Promise<App> {
    const made = await appOf(handler);
    this.#apps.add(made);
    return made;
  }

  /** Sends `a.localhost` to these ports. */
  routeTo(...ports: number[]): void {
    const targets = ports.map((port) => ({ host: '127.0.0.1', port }));
    this.edge.setRoutes([{ host: 'a.localhost', targets }]);
  }

  ask(options: http.RequestOptions = {}, body?: Buffer | string): Promise<Answer> {
    const asked = { port: this.port, agent: this.#agent, ...options };
    return this.#ask(http.request, asked, body);
  }

  /** The same by HTTPS. */
  askTls(options: https.RequestOptions = {}, body?: Buffer | string): Promise<Answer> {
    const asked = { port: this.tlsPort, servername: 'a.localhost', agent: false, ...options };
    return this.#ask(https.request, asked, body);
  }

  #ask(
    request: typeof http.request,
    options: http.RequestOptions,
    body: Buffer | string | undefined,
  ): Promise<Answer> {
    const headers = { host: 'a.localhost', ...(options.headers as http.OutgoingHttpHeaders) };
    const asked = { host: '127.0.0.1', ...options, headers };
    return new Promise((resolve, reject) => {
      const req = request(asked, (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: res.statusCode ?? 0, headers: res.headers, body: text });
        });
        res.on('error', reject);
      });
      req.on('error', reject);
      req.end(body);
    });
  }

  /** Sends bytes as they are and returns all that comes back. */
  raw(bytes: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = net.connect(this.port, '127.0.0.1', () => socket.write(bytes));
      let text = '';
      socket.on('data', (chunk) => (text += chunk.toString('latin1')));
      socket.on('error', reject);
      socket.on('close', () => {
        resolve(text);
      });
    });
  }

  async #make(): Promise<void> {
    const tenants = {
      ownSockets: () => Promise.resolve(new Set<string>()),
      ownPlace: () => undefined,
      leadIn: () => Promise.resolve(false),
    };
    const own = {
      tenants,
      tell: (news: EdgeNews) => this.news.push(news),
      clock: systemClock,
      logger: noLog,
    };
    this.#edge = new Edge({ ...own, ...this.#options });
    await this.#edge.listen({ host: '127.0.0.1', port: this.port });
  }
}
