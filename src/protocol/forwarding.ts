/** Owns the table that says where ports with several targets lead; a swarm writes it, the forwarder reads it. */
export interface Forward {
  port: number;
  targets: readonly { host: string; port: number }[];
}
