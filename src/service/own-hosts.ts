/** Owns which hosts are the instance's own, and who is asked about those of others. */
import { DnsLooks } from '../actors/domains/dns-looks.ts';
import type { OwnHosts } from '../actors/domains/host-names.ts';
import { addressOf, type Config } from '../config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Reader } from '../store/reader-and-journal.ts';
import { tables } from '../store/records/tables.ts';

export function ownHosts(reader: Reader, config: Config): OwnHosts {
  const publicUrl = publicUrlOf(reader, config);
  return { panel: new URL(publicUrl).hostname, appsDomain: config.appsDomain };
}

/** Where people reach the panel, as far as that is known before it listens. */
export function publicUrlOf(
  reader: Reader,
  config: Pick<Config, 'publicUrl' | 'host' | 'port'>,
): string {
  const stored = reader.get(tables.instance, 'instance')?.publicUrl;
  return stored ?? config.publicUrl ?? addressOf(config.host, config.port);
}

export function dnsLooks(reader: Reader, config: Config, clock: Clock): DnsLooks {
  const { dnsResolvers: resolvers, publicAddresses: addresses } = config;
  return new DnsLooks({ clock, resolvers, addresses, host: () => ownHosts(reader, config).panel });
}
