/** Owns which registry an image lies in, and which of a team's logins it needs. */
import type { RegistryLogin } from '../../../drivers/driver.ts';
import { tables } from '../../../store/records/tables.ts';
import { openRegistryPassword } from '../../team/registries.ts';
import type { WorkloadDeps } from '../../workload/deps.ts';

type LoginParts = Pick<WorkloadDeps, 'reader' | 'secrets'>;

const dockerHub = 'docker.io';

/** The logins of a team. Only the driver gets them, and it sends each login to its own host only. */
export function loginsOf({ reader, secrets }: LoginParts, teamId: string): RegistryLogin[] {
  const registries = reader.list(tables.registries, 'team', [teamId], { limit: Infinity });
  return registries.flatMap((registry) => {
    const { host, username } = registry;
    const password = openRegistryPassword(secrets, registry);
    return username === null || password === null ? [] : [{ host, username, password }];
  });
}

export function loginsFor(parts: LoginParts, teamId: string, reference: string): RegistryLogin[] {
  const host = hostOfReference(reference);
  return loginsOf(parts, teamId).filter((login) => login.host === host);
}

/** The registry that a reference names: `docker.io` when it names none. */
export function hostOfReference(reference: string): string {
  const [first = '', ...rest] = reference.split('/');
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  if (!isHost) return dockerHub;
  const host = first.toLowerCase();
  return host === 'index.docker.io' || host === 'registry-1.docker.io' ? dockerHub : host;
}

/** The reference with the digest of the exact image; the same reference when the digest is not known. */
export function pinned(reference: string, digest: string | null): string {
  if (digest === null) return reference;
  const bare = reference.split('@')[0] ?? reference;
  const tag = /:[^:/]*$/.exec(bare);
  return `${tag === null ? bare : bare.slice(0, tag.index)}@${digest}`;
}
