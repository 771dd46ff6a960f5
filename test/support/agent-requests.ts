/** Requests for certificates as agents make them, and as others would, by the program openssl. */
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export interface RequestedNames {
  /** Its common name. */
  subject?: string;
  dns?: readonly string[];
  /** As `-addext` of openssl takes them. */
  extensions?: readonly string[];
  digest?: string;
}

export function newAgentKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}

/** In PEM. */
export function requestOf(key: KeyObject, names: RequestedNames): string {
  const { subject, dns = [], extensions = [], digest } = names;
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'gangway-test-csr-'));
  try {
    const file = path.join(dir, 'key.pem');
    fs.writeFileSync(file, key.export({ type: 'pkcs8', format: 'pem' }));
    const named =
      dns.length > 0 ? [`subjectAltName=${dns.map((name) => `DNS:${name}`).join()}`] : [];
    const more = [...named, ...extensions].flatMap((one) => ['-addext', one]);
    const hash = digest === undefined ? [] : [`-${digest}`];
    const subj = subject === undefined ? '/' : `/CN=${subject}`;
    const args = ['req', '-new', '-key', file, '-subj', subj, ...hash, ...more];
    return execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
}
