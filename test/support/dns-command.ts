/** A program that sets TXT records, as `acme.dnsCommand` names one: at a DNS server of the test. Needs `curl`. */
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DnsServer } from './dns-server.ts';

interface DnsCommandFile {
  path: string;
  close(): void;
}

export async function openDnsCommand(dns: DnsServer): Promise<DnsCommandFile> {
  const server = createServer(({ url = '' }, response) => {
    const [, verb, name = '', value = ''] = url.split('/');
    if (verb === 'set') dns.set('TXT', name, value);
    else dns.unset('TXT', name);
    response.end('done');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const dir = mkdtempSync(join(tmpdir(), 'gangway-dns-command-'));
  const path = join(dir, 'dns');
  const script = `#!/bin/sh\nexec curl -sf "http://127.0.0.1:${String(port)}/$1/$2/$3"\n`;
  writeFileSync(path, script, { mode: 0o755 });
  // Root has it run by nobody.
  chmodSync(dir, 0o755);
  const close = (): void => {
    server.close();
    rmSync(dir, { recursive: true });
  };
  return { path, close };
}
