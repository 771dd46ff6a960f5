/** Owns what a new agent and the control plane say to each other over HTTP, before there is a link between them. */

/** `POST` with the bootstrap token as bearer. */
export const bootstrapPath = '/api/agent/bootstrap';

export interface BootstrapRequest {
  /** A request for a certificate (PKCS #10) in PEM; it may name `name`, or nobody. */
  csr: string;
  /** What the machine calls itself. */
  name: string;
  /** The agent's release. */
  version: string;
}

export interface BootstrapAnswer {
  serverId: string;
  /** In PEM. */
  certificate: string;
  /** The authority's certificate in PEM, whose key has the hash that stands in the token. */
  ca: string;
  /** Where the agents' port is. */
  control: { host: string; port: number };
}
