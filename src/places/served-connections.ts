/**
 * Owns connections to what runs on an agent's machine, for who asks over the link: to ports of its loopback and of
 * the networks of workloads, and to sockets of databases; to nothing else.
 */
import type { Duplex } from 'node:stream';
import { BlockList, isIP } from 'node:net';
import { pipeline } from 'node:stream';
import { workloadNetwork } from '../lib/networks.ts';
import { streamMark } from '../protocol/agent-place.ts';
import { connectHere } from './local-place.ts';
import type { WorkloadAddress } from './place.ts';
import { numberIn, recordIn, refused, textIn } from './plain-values.ts';

const connectMs = 10_000;
const allowed = allowedAddresses();

export interface ConnectChecks {
  /** Whether it is the socket of a database. */
  isSocket: (path: string) => boolean;
  /** Whether it is this workload that listens there. */
  listens: (workload: string, host: string, port: number) => Promise<boolean>;
}

/** Accepts the stream at once: its first byte says whether there is a connection. */
export function connectServed(head: unknown, stream: Duplex, checks: ConnectChecks): void {
  const to = addressIn(head, checks.isSocket);
  const gone = new AbortController();
  stream.once('close', () => gone.abort());
  const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(connectMs)]);
  connected(to, checks, signal).then(
    (socket) => {
      stream.write(Buffer.from([streamMark.there]));
      // Whatever ends one side breaks the other.
      pipeline(stream, socket, () => socket.destroy());
      pipeline(socket, stream, () => stream.destroy());
    },
    (error: unknown) => {
      const { code = 'ETIMEDOUT' } = error as NodeJS.ErrnoException;
      stream.on('error', () => undefined); // It is the other side's, which may be gone.
      stream.end(Buffer.concat([Buffer.from([streamMark.not]), Buffer.from(code)]));
      stream.resume();
    },
  );
}

/** A port that is not its own any more may be anybody's. */
async function connected(
  to: WorkloadAddress,
  { listens }: ConnectChecks,
  signal: AbortSignal,
): Promise<Duplex> {
  if (!('path' in to) && !(await listens(to.workload, to.host, to.port))) {
    throw Object.assign(new Error('It does not listen there'), { code: 'ECONNREFUSED' });
  }
  return connectHere(to, signal);
}

function addressIn(given: unknown, isSocket: (path: string) => boolean): WorkloadAddress {
  const to = recordIn(given);
  const workload = textIn(to, 'workload', /^[a-z0-9_-]{2,64}$/);
  if (to['path'] !== undefined) {
    const path = textIn(to, 'path');
    if (!isSocket(path)) throw refused('a socket that is of no database');
    return { workload, path };
  }
  const host = textIn(to, 'host');
  const family = isIP(host);
  if (family === 0 || !allowed.check(host, family === 4 ? 'ipv4' : 'ipv6')) {
    throw refused('an address that is of no workload');
  }
  return { workload, host, port: numberIn(to, 'port', 65_535) };
}

function allowedAddresses(): BlockList {
  const list = new BlockList();
  const [network = '', bits] = workloadNetwork.split('/');
  list.addSubnet('127.0.0.0', 8, 'ipv4');
  list.addSubnet(network, Number(bits), 'ipv4');
  list.addAddress('::1', 'ipv6');
  return list;
}
