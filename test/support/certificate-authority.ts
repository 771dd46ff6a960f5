/** Owns a certificate authority of a test, and what it issues, by the program openssl. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import type { EdgeCertificate } from '../../src/protocol/workload.ts';

const keys = {
  p256: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'],
  p521: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:secp521r1'],
  rsa2048: ['-newkey', 'rsa:2048'],
  rsa1024: ['-newkey', 'rsa:1024'],
  ed25519: ['-newkey', 'ed25519'],
} as const;

export type KeyKind = keyof typeof keys;

export class CertificateAuthority {
  readonly #dir = fs.mkdtempSync(path.join(os.tmpdir(), 'gangway-test-ca-'));
  readonly #signer: string;
  /** The certificates that a host sends besides its own. */
  readonly #above: string;
  /** PEM of the root, for clients. */
  readonly root: string;
  #issued = 0;

  /** `above`: the authority that vouches for this one; absent: it is a root. */
  constructor(above?: CertificateAuthority) {
    this.#signer = path.join(this.#dir, 'ca');
    const signer = above ? ['-CA', `${above.#signer}.pem`, '-CAkey', `${above.#signer}.key`] : [];
    const kind = ['-addext', 'basicConstraints=critical,CA:TRUE'];
    this.#make(
      this.#signer,
      `/CN=authority ${this.#dir.slice(-6)}`,
      [...keys.p256, ...signer],
      kind,
    );
    const own = fs.readFileSync(`${this.#signer}.pem`, 'utf8');
    this.root = above?.root ?? own;
    this.#above = above ? own + above.#above : '';
  }

  /** The file of the root's certificate. */
  get rootFile(): string {
    const file = path.join(this.#dir, 'root.pem');
    fs.writeFileSync(file, this.root);
    return file;
  }

  issue(names: readonly string[], kind: KeyKind = 'p256', days = 3): EdgeCertificate {
    const file = path.join(this.#dir, `issued-${String(++this.#issued)}`);
    const signer = ['-CA', `${this.#signer}.pem`, '-CAkey', `${this.#signer}.key`];
    const named = `subjectAltName=${names.map((name) => `DNS:${name}`).join()}`;
    const subject = `/CN=${names[0] ?? ''}`;
    this.#make(
      file,
      subject,
      [...keys[kind], ...signer, '-days', String(days)],
      [...['-addext', named], ...['-addext', 'basicConstraints=critical,CA:FALSE']],
    );
    const [chain, key] = ['pem', 'key'].map((end) => fs.readFileSync(`${file}.${end}`, 'utf8'));
    return { names, chain: `${chain ?? ''}${this.#above}`, key: key ?? '' };
  }

  close(): void {
    fs.rmSync(this.#dir, { recursive: true, force: true });
  }

  #make(file: string, subject: string, how: readonly string[], more: readonly string[]): void {
    const out = ['-nodes', '-keyout', `${file}.key`, '-out', `${file}.pem`, '-subj', subject];
    execFileSync('openssl', ['req', '-x509', ...how, ...out, ...more], { stdio: 'ignore' });
  }
}
