/**
 * Pebble, the certificate authority that ACME clients are tried with. It looks at names through a DNS server of the test,
 * and at challenges on a port of the test. It refuses some good nonces on purpose.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { found } from './eventually.ts';
import { freePort } from './ports.ts';
import { programPath } from './programs.ts';

export interface PebbleOptions {
  /** `host:port` of the DNS server. */
  dns: string;
  /** Where it fetches answers to challenges by HTTP. */
  httpPort: number;
  /** HMAC keys by their ids; with any, accounts have to be bound. */
  bindings?: Record<string, string>;
  /** Of certificates; default five years. */
  validitySeconds?: number;
  /** Hosts, and all below them, that it issues nothing for. */
  blocked?: string[];
}

export class Pebble {
  readonly directory: string;
  /** What its own address is shown by. */
  readonly ca: string;
  readonly #dir: string;
  readonly #options: PebbleOptions;
  readonly #ports: { acme: number; management: number };
  #child: ChildProcess | null = null;

  private constructor(options: PebbleOptions, ports: { acme: number; management: number }) {
    this.#options = options;
    this.#ports = ports;
    this.#dir = mkdtempSync(join(tmpdir(), 'gangway-pebble-'));
    this.directory = `https://127.0.0.1:${String(ports.acme)}/dir`;
    this.ca = this.#makeCertificate();
    writeFileSync(join(this.#dir, 'config.json'), JSON.stringify(this.#config()));
  }

  /** Needs the programs `pebble` and `openssl`. */
  static async open(options: PebbleOptions): Promise<Pebble> {
    const ports = { acme: await freePort(), management: await freePort() };
    const pebble = new Pebble(options, ports);
    await pebble.start();
    return pebble;
  }

  /** With nothing left of accounts and orders of before. */
  async start(): Promise<void> {
    const args = ['-config', join(this.#dir, 'config.json'), '-dnsserver', this.#options.dns];
    const env = { ...process.env, PEBBLE_VA_NOSLEEP: '1', GOMAXPROCS: '1' };
    this.#child = spawn(programPath('pebble') ?? 'pebble', args, { env, stdio: 'ignore' });
    await found('Pebble to answer', () => this.root().catch(() => false));
  }

  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child?.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  /** Ends it and removes its files. */
  async close(): Promise<void> {
    await this.stop();
    rmSync(this.#dir, { recursive: true });
  }

  /** The authority that signs what it issues, in PEM; another one after each start. */
  root(): Promise<string> {
    return this.#manage('/roots/0');
  }

  /** Whether a certificate is `Valid` or `Revoked`, by its serial number in hex. */
  async statusOf(serial: string): Promise<string> {
    const said = await this.#manage(`/cert-status-by-serial/${serial.toLowerCase()}`);
    return (JSON.parse(said) as { Status: string }).Status;
  }

  #config(): object {
    const { httpPort, bindings, validitySeconds, blocked = [] } = this.#options;
    return {
      pebble: {
        listenAddress: `127.0.0.1:${String(this.#ports.acme)}`,
        managementListenAddress: `127.0.0.1:${String(this.#ports.management)}`,
        certificate: join(this.#dir, 'cert.pem'),
        privateKey: join(this.#dir, 'key.pem'),
        httpPort,
        tlsPort: 1,
        ocspResponderURL: '',
        externalAccountBindingRequired: bindings !== undefined,
        externalAccountMACKeys: bindings ?? {},
        domainBlocklist: blocked,
        certificateValidityPeriod: validitySeconds ?? 157_680_000,
      },
    };
  }

  #makeCertificate(): string {
    const file = join(this.#dir, 'cert.pem');
    const asked = [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
      ...['-keyout', join(this.#dir, 'key.pem'), '-out', file, '-days', '2'],
      ...['-subj', '/CN=Pebble of a test', '-addext', 'subjectAltName=IP:127.0.0.1'],
    ];
    execFileSync(programPath('openssl') ?? 'openssl', asked, { stdio: 'ignore' });
    return readFileSync(file, 'utf8');
  }

  #manage(path: string): Promise<string> {
    const url = `https://127.0.0.1:${String(this.#ports.management)}${path}`;
    return new Promise((resolve, reject) => {
      const asked = request(url, { ca: this.ca, agent: false }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => (text += part));
        answer.on('end', () => {
          if (answer.statusCode === 200) resolve(text);
          else reject(new Error(`${path}: ${String(answer.statusCode)}`));
        });
      });
      asked.on('error', reject);
      asked.end();
    });
  }
}
