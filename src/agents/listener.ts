/**
 * Owns the port that agents dial: TLS 1.3 with a certificate on both sides.
 *
 * Handshakes are bounded, all of them and those of one address: under way, and in each minute. Whoever does not come
 * through within `handshakeMs` is closed.
 */
import type net from 'node:net';
import tls from 'node:tls';

import type { Logger } from '../lib/log.ts';
import { RateLimit } from '../lib/rate-limit.ts';

export interface AgentListenerOptions {
  /** Of this port; PEM. */
  certificate: { key: string; chain: string };
  /** Whose certificates agents have; PEM. */
  ca: string;
  /** `isOurs`: its certificate is of `ca`, be it good still or not. */
  welcome: (socket: tls.TLSSocket, isOurs: boolean) => void;
  logger: Logger;
  handshakeMs?: number;
  underWayMax?: number;
  underWayOfAddressMax?: number;
  perMinuteOfAddress?: number;
}

const connectionsMax = 4_000;
/** Of our authority all the same. Our clock may be wrong, or may have been. */
const untimely: ReadonlySet<string> = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']);

export class AgentListener {
  readonly #options: AgentListenerOptions;
  readonly #server: tls.Server;
  /** Under way, by address and port. */
  readonly #handshakes = new Map<string, { socket: net.Socket; through: () => void }>();
  /** How many are under way, by address. */
  readonly #shaking = new Map<string, number>();
  readonly #limit: RateLimit;
  #underWay = 0;

  constructor(options: AgentListenerOptions) {
    this.#options = options;
    const { certificate, ca, handshakeMs = 10_000, perMinuteOfAddress = 120 } = options;
    this.#limit = new RateLimit({ burst: perMinuteOfAddress, windowMs: 60_000 });
    this.#server = tls.createServer({
      key: certificate.key,
      cert: certificate.chain,
      ca,
      requestCert: true,
      // Who is refused is to hear why: `welcome` judges the certificate.
      rejectUnauthorized: false,
      minVersion: 'TLSv1.3',
      ALPNProtocols: ['h2'],
      handshakeTimeout: handshakeMs,
    });
    this.#server.maxConnections = connectionsMax;
    this.#server.on('connection', (socket: net.Socket) => this.#admit(socket));
    this.#server.on('tlsClientError', (error: Error, socket) => {
      options.logger.debug({ err: error }, 'agent_handshake_failed');
      socket.destroy();
    });
    this.#server.on('secureConnection', (socket) => this.#welcome(socket));
  }

  /** Rejects when the port cannot be had. Returns the one that it is. */
  open(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject);
        this.#server.on('error', (err: Error) => {
          this.#options.logger.error({ err }, 'agent_listener_failed');
        });
        resolve((this.#server.address() as net.AddressInfo).port);
      });
    });
  }

  /** Takes no more connections; those that are there are whoever's welcomed them. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      // Also those that are not through yet.
      for (const { socket } of [...this.#handshakes.values()]) socket.destroy();
    });
  }

  #admit(socket: net.Socket): void {
    const { underWayMax = 256, underWayOfAddressMax = 32 } = this.#options;
    const address = socket.remoteAddress ?? '';
    const ofAddress = this.#shaking.get(address) ?? 0;
    const isTooMany = this.#underWay >= underWayMax || ofAddress >= underWayOfAddressMax;
    if (isTooMany || this.#limit.take(address) > 0) {
      socket.destroy();
      return;
    }
    this.#underWay += 1;
    this.#shaking.set(address, ofAddress + 1);
    const peer = peerOf(socket);
    const through = (): void => {
      if (this.#handshakes.get(peer)?.socket !== socket) return;
      this.#handshakes.delete(peer);
      this.#underWay -= 1;
      const left = (this.#shaking.get(address) ?? 1) - 1;
      if (left === 0) this.#shaking.delete(address);
      else this.#shaking.set(address, left);
    };
    this.#handshakes.set(peer, { socket, through });
    socket.once('close', through);
  }

  #welcome(socket: tls.TLSSocket): void {
    socket.on('error', () => undefined); // 'close' follows.
    this.#handshakes.get(peerOf(socket))?.through();
    socket.setNoDelay(true);
    const isOurs = socket.authorized || untimely.has(String(socket.authorizationError));
    if (socket.alpnProtocol === 'h2') this.#options.welcome(socket, isOurs);
    else socket.destroy();
  }
}

function peerOf({ remoteAddress = '', remotePort = 0 }: net.Socket): string {
  return `${remoteAddress} ${String(remotePort)}`;
}
