/** Owns what is asked of the thread that makes certificates, and its answers: plain data. */

/** A certificate and its key, both in PEM. */
export interface KeyedCertificate {
  certificate: string;
  key: string;
}

export interface NewAuthority {
  name: string;
  /** What the certificate of the agents' port is good for. */
  hosts: readonly string[];
  notBeforeMs: number;
  notAfterMs: number;
}

export interface MadeAuthority {
  authority: KeyedCertificate;
  /** Of the agents' port. */
  control: KeyedCertificate;
}

export interface AgentRequest {
  authority: KeyedCertificate;
  /** The request for a certificate, in PEM. */
  csr: string;
  /** The name that the certificate is for, whatever the request asks for. */
  subject: string;
  /** Other names that the request may have. */
  known: readonly string[];
  notBeforeMs: number;
  notAfterMs: number;
}

/** `refused`: a sentence that says what is wrong with the request. */
export type AgentAnswer = { certificate: string; serial: string } | { refused: string };
