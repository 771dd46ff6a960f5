/**
 * Owns the certificate authority for agents: who speaks for which server.
 *
 * 1. It is ours alone, and made when the first server is added. Its key is sealed in the store.
 * 2. A certificate is for one server, by its id, whatever a request asks for. It is good only while the record of the
 *    server lists its serial, so what is revoked is not good from the next look on.
 * 3. Requests are read, and certificates made, on a thread of its own, which ends when it has had nothing to do.
 * 4. An agent whose clock is wrong by a year trusts the agents' port all the same.
 */
import { createHash, createPublicKey, type KeyObject, type X509Certificate } from 'node:crypto';
import type { Piscina } from 'piscina';
import type { Clock } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import { laneHosts } from '../protocol/agent-wire.ts';
import type { Reader } from '../store/reader-and-journal.ts';
import type { AgentAuthorityRecord } from '../store/records/records.ts';
import { tables } from '../store/records/tables.ts';
import type { SecretBox } from '../store/secrets.ts';
import type {
  AgentAnswer,
  AgentRequest,
  KeyedCertificate,
  MadeAuthority,
  NewAuthority,
} from './certificate-work.ts';

export interface AgentAuthorityOptions {
  reader: Pick<Reader, 'get'>;
  secrets: Pick<SecretBox, 'seal' | 'open'>;
  clock: Clock;
}

export interface AgentCertificate {
  certificatePem: string;
  /** In hex, upper case, as `X509Certificate.serialNumber` has it. */
  serial: string;
  notAfterMs: number;
}

interface Opened {
  record: Readonly<AgentAuthorityRecord>;
  key: KeyObject;
}

const task = new URL('../workers/tasks/certificates.ts', import.meta.url);
const dayMs = 24 * 3_600_000;
const yearMs = 365 * dayMs;
const authorityYears = 10;
/** So that an agent whose clock is behind believes in it. */
const backdatedYears = 2;
/** Against a clock of ours that is set back by a little. */
const backdatedMs = 3_600_000;
export const agentCertificateMs = 90 * dayMs;
/** A request for a key of RSA with 8192 bits has less than 3 kB. */
const csrMaxLength = 8192;
const idleMs = 20_000;
const workMs = 20_000;

export class AgentAuthority {
  readonly #options: AgentAuthorityOptions;
  #piscina: Promise<Piscina> | null = null;
  #opened: Opened | null = null;

  constructor(options: AgentAuthorityOptions) {
    this.#options = options;
  }

  /** Whether there is one. Until then nobody can be admitted. */
  get exists(): boolean {
    return this.#record() !== undefined;
  }

  /** In PEM: what agents trust. */
  get caPem(): string {
    return this.#known().record.certificate;
  }

  /** SHA-256 of the authority's public key (SPKI, DER), in base64url: by it an agent knows the certificate. */
  get caKeyHash(): string {
    return keyHashOf(this.#known().record);
  }

  /** A new one, as it has to be stored first. */
  async make(): Promise<AgentAuthorityRecord> {
    const nowMs = this.#options.clock.now();
    const { authority, control } = await this.#run<MadeAuthority>('makeAuthority', {
      name: 'Gangway agents',
      hosts: Object.values(laneHosts),
      notBeforeMs: nowMs - backdatedYears * yearMs,
      notAfterMs: nowMs + authorityYears * yearMs,
    } satisfies NewAuthority);
    const { secrets } = this.#options;
    return {
      id: authorityId,
      certificate: authority.certificate,
      key: secrets.seal(authority.key, contextOf('authority')),
      control: {
        certificate: control.certificate,
        key: secrets.seal(control.key, contextOf('control')),
      },
      createdAtMs: nowMs,
    };
  }

  /** For the agents' port: the key, and the chain with the leaf first, both in PEM. */
  controlCertificate(): { key: string; chain: string } {
    const { certificate, control } = this.#known().record;
    const key = this.#options.secrets.open(control.key, contextOf('control'));
    return { key, chain: control.certificate + certificate };
  }

  /**
   * A certificate for the agent of a server: 90 days, for the public key of the request. Nobody is admitted with it
   * before the record of the server lists its serial. A request may name the server's id or one of `known`, or
   * nobody. Rejects with BAD_REQUEST.
   */
  async issueAgentCertificate(
    csrPem: string,
    serverId: string,
    known: readonly string[] = [],
  ): Promise<AgentCertificate> {
    if (csrPem.length > csrMaxLength) {
      throw unusable(`It is longer than ${String(csrMaxLength)} characters.`);
    }
    const { record } = this.#known();
    const nowMs = this.#options.clock.now();
    const notAfterMs = nowMs + agentCertificateMs;
    const answer = await this.#run<AgentAnswer>('issueForAgent', {
      authority: this.#keyedOf(record),
      csr: csrPem,
      subject: serverId,
      known,
      notBeforeMs: nowMs - backdatedMs,
      notAfterMs,
    } satisfies AgentRequest);
    if ('refused' in answer) throw unusable(answer.refused);
    return { certificatePem: answer.certificate, serial: answer.serial, notAfterMs };
  }

  /** The id of the server that a client with this certificate speaks for; null: it is not, or no more, good. */
  admit(certificate: X509Certificate): string | null {
    const listed = this.#listed(certificate);
    return listed !== null && this.#options.clock.now() < listed.notAfterMs
      ? listed.serverId
      : null;
  }

  /** The same for one that nobody revoked, but whose time is over: it may be our clock that is wrong. */
  expired(certificate: X509Certificate): string | null {
    const listed = this.#listed(certificate);
    return listed !== null && this.#options.clock.now() >= listed.notAfterMs
      ? listed.serverId
      : null;
  }

  async close(): Promise<void> {
    const piscina = await this.#piscina;
    await piscina?.destroy();
  }

  #listed(certificate: X509Certificate): { serverId: string; notAfterMs: number } | null {
    const record = this.#record();
    if (record === undefined) return null;
    const serverId = /^CN=(srv_\w+)$/.exec(certificate.subject)?.[1];
    if (serverId === undefined || certificate.ca) return null;
    if (!certificate.verify(this.#open(record).key)) return null;
    const server = this.#options.reader.get(tables.servers, serverId);
    const listed = server?.agent?.certificates.find(
      ({ serial }) => serial === certificate.serialNumber,
    );
    return listed === undefined ? null : { serverId, notAfterMs: listed.notAfterMs };
  }

  #record(): Readonly<AgentAuthorityRecord> | undefined {
    return this.#options.reader.get(tables.agentAuthority, authorityId);
  }

  #known(): Opened {
    const record = this.#record();
    if (record === undefined) throw new Error('Cannot use the authority for agents: there is none');
    return this.#open(record);
  }

  #open(record: Readonly<AgentAuthorityRecord>): Opened {
    if (this.#opened?.record !== record) {
      this.#opened = { record, key: createPublicKey(record.certificate) };
    }
    return this.#opened;
  }

  #keyedOf({ certificate, key }: Readonly<AgentAuthorityRecord>): KeyedCertificate {
    return { certificate, key: this.#options.secrets.open(key, contextOf('authority')) };
  }

  async #run<A>(name: string, asked: NewAuthority | AgentRequest): Promise<A> {
    const piscina = await (this.#piscina ??= startThread());
    const signal = AbortSignal.timeout(workMs);
    try {
      return (await piscina.run(asked, { name, signal })) as A;
    } catch (cause) {
      if (!signal.aborted) throw cause;
      throw new ServiceError('OVERLOADED', 'No certificate can be made now. Try again.', { cause });
    }
  }
}

/** As it stands in a bootstrap token. */
export function keyHashOf({ certificate }: Pick<AgentAuthorityRecord, 'certificate'>): string {
  const key = createPublicKey(certificate).export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(key).digest('base64url');
}

const authorityId = 'agents';

function contextOf(what: 'authority' | 'control'): string {
  return `agent-authority:${what}`;
}

function unusable(why: string): ServiceError {
  return new ServiceError('BAD_REQUEST', `csr: ${why}`);
}

async function startThread(): Promise<Piscina> {
  const { Piscina } = await import('piscina');
  return new Piscina({
    filename: task.href,
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: idleMs,
    resourceLimits: { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 8 },
  });
}
