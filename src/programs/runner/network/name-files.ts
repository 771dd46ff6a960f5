/**
 * Owns the files by which programs in a network of their own find names: those of the machine, without what
 * only the machine itself reaches.
 */
import fs from 'node:fs';
import { isIPv4 } from 'node:net';
import path from 'node:path';

import type { BoundFile } from '../isolation/mounts.ts';

export interface NameFiles {
  /** Whom programs ask. */
  servers: readonly string[];
  /** For a workload: `dir` is ours, `hostname` what it is called in there. */
  filesOf(dir: string, hostname: string): BoundFile[];
}

const resolvConf = '/etc/resolv.conf';
/** What systemd's own resolver asks, which is on loopback itself. */
const behindSystemd = '/run/systemd/resolve/resolv.conf';
const hosts = '/etc/hosts';

/** `dir`: a folder of ours. */
export function openNameFiles(dir: string): NameFiles | { missing: string } {
  const text = resolvText();
  if (text === undefined) {
    const missing = `The name servers in ${resolvConf} are on loopback or have IPv6 addresses, which a network of its own does not reach.`;
    return { missing };
  }
  fs.mkdirSync(dir, { recursive: true, mode: 0o755 });
  const servers = path.join(dir, 'resolv.conf');
  return {
    servers: serversIn(text),
    filesOf: (own, hostname) => {
      const names = path.join(own, 'hosts');
      write(servers, resolvText() ?? text);
      write(names, hostsText(readIf(hosts), hostname));
      return [
        { from: servers, to: resolvConf },
        { from: names, to: hosts },
      ];
    },
  };
}

/** The same file, so that those who see it see what is new. */
function write(file: string, text: string): void {
  if (readIf(file) !== text) fs.writeFileSync(file, text, { mode: 0o644 });
}

function readIf(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Undefined when nothing inside would get an answer. */
function resolvText(): string | undefined {
  const own = readIf(resolvConf);
  if (serversIn(own).length === 0) return reachable(own);
  return reachable(own) ?? reachable(readIf(behindSystemd), true);
}

/** Without the name servers that are not reached; undefined when no other is left. */
function reachable(text: string, mustName = false): string | undefined {
  const lines = text.split('\n').filter((line) => {
    const server = serverIn(line);
    return server === undefined || isReached(server);
  });
  const named = serversIn(text).length;
  const left = serversIn(lines.join('\n')).length;
  return left === 0 && (named > 0 || mustName) ? undefined : lines.join('\n');
}

function isReached(server: string): boolean {
  return isIPv4(server) && !server.startsWith('127.') && server !== '0.0.0.0';
}

function serversIn(text: string): string[] {
  return text.split('\n').flatMap((line) => serverIn(line) ?? []);
}

function serverIn(line: string): string | undefined {
  return /^\s*nameserver\s+(\S+)/.exec(line)?.[1];
}

/** `localhost` is never `::1`: who is reached by an IPv4 address has to listen there. */
export function hostsText(machine: string, hostname: string): string {
  const lines = machine.split('\n').flatMap((line) => {
    const [address = '', ...names] = (line.split('#', 1)[0] ?? '').trim().split(/\s+/);
    const others = names.filter((name) => name !== 'localhost');
    if (address === '' || address === '::1' || others.length === 0) return [];
    return [`${address} ${others.join(' ')}`];
  });
  return ['127.0.0.1 localhost', `127.0.0.1 ${hostname}`, ...lines, ''].join('\n');
}
