/**
 * Owns the port for HTTPS: handshakes, and which protocol a connection goes on with.
 *
 * 1. Who asks for a name that has no certificate gets none, and no connection.
 * 2. A connection counts as its client's from its first packet (`clients.ts`), and is closed when its handshake is
 *    not over in time.
 * 3. Handshakes begin one after the other (`handshake-turns.ts`), once the client has sent something: thousands at
 *    once hold up nobody.
 * 4. A session goes on where it was: also at another process of the edge, which has the same keys of tickets.
 */
import { once } from 'node:events';
import net from 'node:net';
import type { Server as TlsServer, TLSSocket } from 'node:tls';

import type { EdgeCertificate } from '../../../protocol/workload.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Clients } from '../clients.ts';
import { Certificates } from './certificates.ts';
import { HandshakeTurns } from './handshake-turns.ts';

export interface TlsFrontOptions {
  clients: Clients;
  clock: Clock;
  logger: Logger;
  /** Takes a connection over whose handshake is done; `servername` is that which its certificate was given for. */
  serve: (socket: TLSSocket) => void;
}

const handshakeMs = 20_000;
/** What is common to browsers of the last ten years, without what has no forward secrecy. */
const ciphers = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
];

export class TlsFront {
  readonly certificates: Certificates;
  /** Undefined before it listens. */
  port: number | undefined;
  readonly #options: TlsFrontOptions;
  readonly #turns = new HandshakeTurns();
  readonly #server: TlsServer;
  readonly #front: net.Server;
  /** By the connections below, whose handshakes are not over. */
  readonly #inHandshake = new WeakMap<net.Socket, () => void>();

  constructor(options: TlsFrontOptions) {
    this.#options = options;
    this.certificates = new Certificates(options);
    this.#server = this.#createServer();
    const accepted = { pauseOnConnect: true, allowHalfOpen: true, noDelay: true };
    this.#front = net.createServer(accepted, (socket) => this.#accept(socket));
  }

  /** Once. */
  async listen(on: net.ListenOptions | { fd: number }): Promise<void> {
    this.#front.listen(on);
    await once(this.#front, 'listening');
    const address = this.#front.address();
    this.port = typeof address === 'object' ? address?.port : undefined;
    const { logger } = this.#options;
    this.#front.on('error', (error) => logger.error({ err: error }, 'edge_accept_failed'));
  }

  setCertificates(certificates: readonly EdgeCertificate[]): void {
    this.certificates.replace(certificates);
  }

  /** 48 bytes in base64. */
  setTicketKeys(keys: string): void {
    this.#server.setTicketKeys(Buffer.from(keys, 'base64'));
  }

  /** Takes no connections any more. */
  close(): void {
    this.#front.close();
  }

  #createServer(): TlsServer {
    const { constants } = process.getBuiltinModule('node:crypto');
    const server = process.getBuiltinModule('node:tls').createServer({
      // The context of its own has no certificate: nobody is served by it.
      SNICallback: (name, done) => done(null, this.certificates.contextOf(name)),
      ALPNProtocols: ['h2', 'http/1.1'],
      minVersion: 'TLSv1.2',
      ciphers: ciphers.join(':'),
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
      sessionIdContext: 'gangway-edge',
      allowHalfOpen: true,
      // There is a whole one, see 2.
      handshakeTimeout: 0,
    });
    server.on('secureConnection', (socket) => this.#secured(socket));
    // It is closed. Whoever sends what is no handshake is no event for a log.
    server.on('tlsClientError', () => undefined);
    return server;
  }

  #accept(socket: net.Socket): void {
    socket.on('error', () => undefined); // 'close' follows.
    const isAdmitted = this.#options.clients.admit(socket, () => this.#await(socket));
    // It expects a handshake, not words.
    if (!isAdmitted) socket.destroy();
  }

  #await(socket: net.Socket): void {
    const cancelDeadline = this.#options.clock.after(handshakeMs, () => socket.destroy());
    this.#inHandshake.set(socket, cancelDeadline);
    let cancelTurn = (): void => undefined;
    socket.once('close', () => {
      cancelDeadline();
      cancelTurn();
    });
    socket.once('readable', () => {
      cancelTurn = this.#turns.wait(() => this.#server.emit('connection', socket));
    });
  }

  #secured(socket: TLSSocket): void {
    socket.on('error', () => undefined); // 'close' follows.
    // The connection below; not in Node's documentation.
    const { _parent: below } = socket as unknown as { _parent: net.Socket };
    this.#inHandshake.get(below)?.();
    this.#options.clients.secured(below, socket);
    this.#options.serve(socket);
  }
}
