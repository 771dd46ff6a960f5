/** Owns which hosts are the instance's own, and who is asked about those of others. */
import { DnsLooks } from '../actors/domains/dns-looks.ts';
import type { OwnHosts } from '../actors/domains/host-names.ts';
import { addressOf, type Config } from '../config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Reader } from '../store/reader-and-journal.ts';
import { tables } from '../store/records/tables.ts';

export function ownHosts(reader: Reader, config: Config): OwnHosts {
  const stored = reader.get(tables.instance, 'instance')?.publicUrl;
  const publicUrl = stored ?? config.publicUrl ?? addressOf(config.host, config.port);
  return { panel: new URL(publicUrl).hostname, appsDomain: config.appsDomain };
}

export function dnsLooks(reader: Reader, config: Config, clock: Clock): DnsLooks {
  const { dnsResolvers: resolvers, publicAddresses: addresses } = config;
  return new DnsLooks({ clock, resolvers, addresses, host: () => ownHosts(reader, config).panel });
}
