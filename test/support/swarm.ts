/** Owns the making of swarms of one node. */
import Docker from 'dockerode';

/** Makes the daemon a swarm of its own, unless it is one; several of them share the machine. */
export async function beSwarm(socket: string): Promise<void> {
  const docker = new Docker({ socketPath: socket });
  const info = (await docker.info()) as { Swarm?: { ControlAvailable?: boolean } };
  if (info.Swarm?.ControlAvailable) return;
  const found = (await docker.getNetwork('bridge').inspect()) as {
    Options: Record<string, string>;
  };
  const bridge = found.Options['com.docker.network.bridge.name'] ?? 'gwtest0';
  const number = Number(/\d+$/.exec(bridge)?.[0] ?? 0);
  // Else all would have one bridge of this name, with the same addresses.
  await docker.createNetwork({
    Name: 'docker_gwbridge',
    Driver: 'bridge',
    IPAM: { Driver: 'default', Config: [{ Subnet: `10.219.${number}.0/24` }] },
    Options: {
      'com.docker.network.bridge.name': `${bridge}s`,
      'com.docker.network.bridge.enable_icc': 'false',
      'com.docker.network.bridge.enable_ip_masquerade': 'false',
    },
  });
  const address = `127.0.1.${number + 1}`;
  await docker.swarmInit({
    ListenAddr: `${address}:0`,
    AdvertiseAddr: address,
    DataPathPort: 14_000 + number,
  });
}
