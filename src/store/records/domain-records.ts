/** Owns the shapes of what is stored of domains of apps, and of certificates. */

export type DomainStatus = 'pending_dns' | 'issuing' | 'active' | 'failed';

/** What has to be set in the DNS, and whether it was found when somebody looked last. */
export interface DnsEntry {
  type: 'A' | 'AAAA' | 'CNAME' | 'TXT';
  name: string;
  value: string;
  found: boolean;
}

/** A host that a team claims for an app. It leads there once it is verified. */
export interface DomainRecord {
  id: string;
  appId: string;
  teamId: string;
  /** In ASCII and lower case; `*.` before it stands for one label. */
  host: string;
  /** Another host of the same app, which visitors are sent to. */
  redirectTo: string | null;
  isPrimary: boolean;
  /** The value of the TXT record at `_gangway.<host>`, without the `*.` of a wildcard. */
  proof: string;
  /** Since when the host is its team's; null: it is a claim, as others may have, too. */
  verifiedAtMs: number | null;
  status: DomainStatus;
  /** Since when its DNS shows no more that it is its team's; absent or null: it does. */
  lostAtMs?: number | null;
  /** Why it is not active, or will not be for ever, for people. */
  error: string | null;
  /** What has to be set; all of it is found before the host is verified. */
  records: DnsEntry[];
  certificateId: string | null;
  /** Tries in a row that did not bring it on. */
  failures: number;
  /** Of the look at the DNS; null: nobody looks by itself. */
  nextTryAtMs: number | null;
  createdAtMs: number;
}

/** A certificate with its key, for TLS at the edge. */
export interface CertificateRecord {
  id: string;
  /** Host names that it is good for; wildcards with their `*.`. */
  names: string[];
  /** PEM, the leaf first. */
  chain: string;
  /** The private key in PEM, sealed. */
  key: Uint8Array;
  issuer: string;
  notBeforeMs: number;
  notAfterMs: number;
  /** Whether it was issued by ACME, and is renewed; else somebody uploaded it. */
  managed: boolean;
}

/** The instance's account at an authority that issues certificates by ACME. */
export interface AcmeAccountRecord {
  /** Address of the authority's directory. */
  id: string;
  /** Address of the account; null: it may not be registered yet. */
  url: string | null;
  /** The private key in PEM, sealed. */
  key: Uint8Array;
  /** Of the key: what answers to challenges are made with. */
  thumbprint: string;
  createdAtMs: number;
}

/** A certificate that is on its way to a domain, or to the names of apps, until it is there. */
export interface CertificateOrderRecord {
  /** The domain's; of the names of apps that of their certificate. */
  id: string;
  host: string;
  /** Address of the authority's directory. */
  directory: string;
  /** Where it was placed with this key; null: nowhere yet. */
  url: string | null;
  /** The private key of the certificate in PEM, sealed. */
  key: Uint8Array;
  /** Tries that the authority, or the program for the DNS, refused. */
  failures: number;
  /** Tries since the last of those that found no authority; absent: none. */
  outages?: number;
  nextTryAtMs: number;
  /** Why the last try came to nothing, for people; absent: there was none. */
  error?: string;
  /** For how long the authority asked to be left alone with it: nobody tries earlier. Absent or null: it did not. */
  held?: { sinceMs: number; forMs: number } | null;
}
