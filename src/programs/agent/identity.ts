/**
 * Owns who an agent is: its key, the certificate that it has of the control plane, and where that is.
 *
 * All of it is one file, for its owner alone, and replaced as a whole: after a crash there is the old one or the new
 * one, and a key always has its certificate.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

import { isRecord } from '../../protocol/agent-wire.ts';
import { writeFileWhole } from '../../lib/whole-file.ts';

export interface Identity {
  serverId: string;
  /** PEM. */
  key: string;
  /** PEM. */
  certificate: string;
  /** Of the authority; PEM. */
  ca: string;
  /** Where the agents' port is. */
  control: { host: string; port: number };
  /** The panel's address that the token was given to. */
  controlUrl: string;
  /** Of the token that it came by. */
  tokenHash: string;
}

const fileName = 'identity.json';

/** Null: there is none. Throws when the file is no identity. */
export function readIdentity(dataDir: string): Identity | null {
  const file = path.join(dataDir, fileName);
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    return identityIn(JSON.parse(text));
  } catch (cause) {
    throw new Error(`Cannot read ${file}: it is no identity of an agent`, { cause });
  }
}

export function storeIdentity(dataDir: string, identity: Identity): void {
  writeFileWhole(path.join(dataDir, fileName), `${JSON.stringify(identity)}\n`, true);
}

function identityIn(read: unknown): Identity {
  const { serverId, key, certificate, ca, control, controlUrl, tokenHash } = isRecord(read)
    ? read
    : {};
  const { host, port } = isRecord(control) ? control : {};
  const texts = [serverId, key, certificate, ca, host, controlUrl, tokenHash];
  if (!texts.every((one) => typeof one === 'string') || typeof port !== 'number') {
    throw new Error('Cannot use an identity: something is missing');
  }
  const identity = read as Identity;
  const isPair = new X509Certificate(identity.certificate).checkPrivateKey(
    createPrivateKey(identity.key),
  );
  if (!isPair) throw new Error('Cannot use an identity: its key is not that of its certificate');
  return identity;
}
